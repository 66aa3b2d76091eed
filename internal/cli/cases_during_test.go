package cli

var duringCases = []correctedCase{}
