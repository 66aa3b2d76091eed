package cli

var fleetCases = []correctedCase{}
