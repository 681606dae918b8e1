module toybroker

go 1.21
