"""Normal series: sixteen small generators and the layers (trend, noise) they share."""
