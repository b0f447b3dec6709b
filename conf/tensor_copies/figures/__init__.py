"""What is drawn: charts, maps, timelines, pictures of cards. It connects nothing."""
