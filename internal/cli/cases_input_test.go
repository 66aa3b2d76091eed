package cli

var inputCases = []correctedCase{}
