package cli

var planCases = []correctedCase{}
