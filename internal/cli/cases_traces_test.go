package cli

var traceCases = []correctedCase{}
