package rings

// LogTail is logTail, for a comparison with exact sums.
var LogTail = logTail
