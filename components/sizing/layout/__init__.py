"""How a job is split over cards, and which framework runs that split."""
