package cli

var tierCases = []correctedCase{}
