"""What is drawn: charts, maps, timelines, the pictures on cards. It connects nothing."""
