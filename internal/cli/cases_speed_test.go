package cli

var speedCases = []correctedCase{}
