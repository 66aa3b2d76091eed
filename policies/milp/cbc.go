package milp

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// cbc describes CBC (https://github.com/coin-or/Cbc).
var cbc = solver{
	// The limits and tolerances are arguments. An absolute gap below 1e-9 is raised to 1e-9.
	name: "cbc",
	arguments: func(o *Options) []string {
		args := []string{modelName}
		if o.TimeLimit > 0 {
			args = append(args, "-sec", formatNumber(o.TimeLimit.Seconds()), "-timeMode",
				"elapsed")
		}
		args = append(args, "-ratio", formatNumber(o.Gap), "-allow",
			formatNumber(max(o.AbsGap, 1e-9)), "-randomCbcSeed",
			strconv.FormatUint(o.Seed%(1<<31), 10))
		if o.Threads > 1 {
			args = append(args, "-threads", strconv.Itoa(o.Threads))
		}
		if o.Start != nil { // must follow limits and gap, which it resets
			args = append(args, "-mips", startName)
		}
		return append(args, "-solve", "-solution", solutionName)
	},
	options: func(*Options) string { return "" },
	// CBC reads a start in the format of its solution files.
	start: func(b *bytes.Buffer, m *Model, x []float64) {
		fmt.Fprintf(b, "Feasible - objective value %s\n", formatNumber(m.Value(x)))
		for i := range m.Columns {
			fmt.Fprintf(b, "%d %s %s 0\n", i, m.Columns[i].Name, formatNumber(x[i]))
		}
	},
	// Patterns of the lines of its log.
	version:    regexp.MustCompile(`(?m)^Version: (\S+)`),
	result:     regexp.MustCompile(`(?m)^Result - (.*?)\s*$`),
	bound:      regexp.MustCompile(`(?m)^Lower bound:\s+(\S+)`),
	progress:   regexp.MustCompile(`best possible (\S+?)[,)\s]`),
	boundError: 5e-4, // it prints three decimals
	// The result line, or for trivial models another line of the log, states how CBC stopped.
	status: func(result, output string) Status {
		switch {
		case strings.HasPrefix(result, "Optimal solution found"):
			return Optimal
		case strings.HasPrefix(result, "Stopped on"),
			strings.HasPrefix(result, "User ctrl-cuser"):
			return Stopped
		case strings.Contains(result, "infeasible"),
			strings.Contains(output, "Problem is infeasible"),
			strings.Contains(output, "Pre-processing says infeasible"):
			return Infeasible
		case strings.Contains(output, "Optimal - objective value"): // a linear program
			return Optimal
		}
		return ""
	},
	checksExitStatus: true,
	// The first line of a solution file is the status; the rest lists columns.
	point: func(text string) string {
		head, rest, _ := strings.Cut(text, "\n")
		if strings.Contains(head, "no integer solution") ||
			strings.Contains(head, "nfeasible") {
			return ""
		}
		return strings.TrimSpace(rest)
	},
	nameField: 1,
}
