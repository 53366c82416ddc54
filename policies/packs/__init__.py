"""What a policy pack is made of: rules, their configuration and exemptions, and how they are evaluated."""
