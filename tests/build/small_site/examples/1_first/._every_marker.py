# What an editor may leave here.
