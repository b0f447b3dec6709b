"""What is drawn: charts, tensor maps, the pictures on cards. It connects nothing."""
