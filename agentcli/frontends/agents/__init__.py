"""Sessions side by side: started in the background, listed by what they want, answered, merged and resumed."""
