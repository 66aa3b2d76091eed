package milp

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// highs describes HiGHS (https://highs.dev).
var highs = solver{
	// Limits are arguments; gaps, threads and the seed are only accepted in a file of options.
	name: "highs",
	arguments: func(o *Options) []string {
		args := []string{"--model_file", modelName, "--options_file", optionsName,
			"--solution_file", solutionName}
		if o.Threads == 1 {
			args = append(args, "--parallel", "off")
		}
		if o.TimeLimit > 0 {
			args = append(args, "--time_limit", formatNumber(o.TimeLimit.Seconds()))
		}
		if o.Start != nil {
			args = append(args, "--read_solution_file", startName)
		}
		return args
	},
	options: func(o *Options) string {
		return fmt.Sprintf("mip_rel_gap = %s\nmip_abs_gap = %s\nthreads = %d\nrandom_seed = %d\nwrite_solution_style = 0\n",
			formatNumber(o.Gap), formatNumber(o.AbsGap), o.Threads, o.Seed%(1<<31))
	},
	// HiGHS reads a start in the format of its solution files, with the values of rows.
	start: func(b *bytes.Buffer, m *Model, x []float64) {
		b.WriteString("Model status\nUnknown\n\n# Primal solution values\nFeasible\n")
		fmt.Fprintf(b, "Objective %s\n# Columns %d\n", formatNumber(m.Value(x)),
			len(m.Columns))
		for i := range m.Columns {
			fmt.Fprintf(b, "%s %s\n", m.Columns[i].Name, formatNumber(x[i]))
		}
		fmt.Fprintf(b, "# Rows %d\n", len(m.Rows))
		for i := range m.Rows {
			fmt.Fprintf(b, "%s %s\n", m.Rows[i].Name, formatNumber(m.Rows[i].left(x)))
		}
	},
	// Patterns of the lines of its log.
	version: regexp.MustCompile(`(?m)^Running HiGHS (\S+)`),
	result:  regexp.MustCompile(`(?m)^\s*(?:Status|Model status\s*:)\s+(\S.*?)\s*$`),
	bound:   regexp.MustCompile(`(?m)^\s*Dual bound\s+(\S+)`),
	// The log names the status of the model, which is empty if the time limit ended the reading.
	status: func(result, output string) Status {
		switch result {
		case "Optimal":
			return Optimal
		case "Time limit reached", "Interrupted by user", "Solution limit reached":
			return Stopped
		case "Infeasible", "Primal infeasible or unbounded":
			return Infeasible
		case "":
			if strings.Contains(output, "reached timeout") { // while reading the model
				return Stopped
			}
		}
		return ""
	},
	// The columns of the primal solution follow their number, and end before the rows.
	point: func(text string) string {
		_, rest, _ := strings.Cut(text, "# Primal solution values\nFeasible\n")
		_, rest, _ = strings.Cut(rest, "# Columns ")
		_, rest, _ = strings.Cut(rest, "\n") // the number of columns
		columns, _, _ := strings.Cut(rest, "\n# Rows ")
		return columns
	},
}
