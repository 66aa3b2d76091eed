package cli

var uxCases = []correctedCase{}
