"""Who is told what about an incident, in which words, and when not: pages, severities, forms and targets of alerts."""
