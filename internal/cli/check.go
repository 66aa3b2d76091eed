// This file defines sim check, and loads scenario files for all commands.

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/study"
)

// checkCommand returns the definition of sim check.
func (c *command) checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "check scenarios without running them, and report all errors",
		ArgsUsage: "FILE...",
		Description: describeExamples(
			example{"sim check my.toml other.toml", "all errors of both files, with line numbers"},
			example{"sim check gpt7b --resolved", "the scenario with all defaults, as a start for a file"}),
		Flags: append(append(scenarioFlags(), budgetFlags()...),
			boolFlag("resolved", "print the scenario with all defaults"),
		),
		Action: func(cc *cli.Context) error {
			files := cc.Args().Slice()
			if len(files) == 0 {
				return usagef("sim check needs a scenario FILE")
			}
			if err := setBudget(cc); err != nil {
				return err
			}
			set, err := overrides(cc)
			if err != nil {
				return err
			}
			// Check all files, and print the errors of all of them together.
			var all scenarios.Diagnostics
			for _, file := range files {
				shown, err := c.checkFile(cc.Context, file, set, cc.Bool("resolved"))
				if err := collectDiagnostics(&all, err); err != nil {
					return err
				}
				fmt.Fprintf(c.stdout, "%s", shown)
			}
			if len(all) > 0 {
				return all
			}
			return nil
		},
	}
}

// checkFile returns the output of sim check for a valid scenario or study, or its errors. If
// resolved is set, the output is the file with all defaults.
func (c *command) checkFile(ctx context.Context, file string, overrides []string, resolved bool) (shown []byte, err error) {
	// A scenario has a report and, if it can be estimated, a cost.
	if !scenarios.IsStudy(file) {
		s, err := scenarios.Load(file, overrides)
		if err != nil {
			return nil, err
		}
		c.warn(s)
		if resolved {
			return s.TOML(), nil
		}
		report := s.Report()
		if cost, err := s.Cost(ctx); err == nil && cost != (scenarios.Cost{}) {
			search := ""
			if n := s.MaxEvaluations(); n > 0 {
				search = fmt.Sprintf("; a search simulates up to %s decisions first (max_evaluations), on a reduced graph", text.Thousands(float64(n)))
			}
			report += reportLine("cost", fmt.Sprintf("about %v to simulate each policy%s%s", cost, atLevel(s), search))
			if cheaper := findCheaperLevel(ctx, file, overrides, s, cost); cheaper != nil {
				report += reportLine("cheaper", cheaper.String())
			}
		}
		return fmt.Appendf(nil, "%s: %s is OK\n%s", file, s.Name, c.fitReport(report)), nil
	}
	// A study is valid if each of its variants is.
	st, err := scenarios.LoadStudy(file, overrides)
	if err != nil {
		return nil, err
	}

	// The plan loads every variant, which reports their errors.
	plan, err := study.NewPlan(ctx, st)
	if err != nil {
		return nil, err
	}
	// Deprecated names are deprecated in every variant, so the first one has all warnings.
	first, err := st.Variant(0)
	if err != nil {
		return nil, err
	}
	c.warn(first)
	if resolved {
		return st.TOML()
	}
	return fmt.Appendf(nil, "%s: %s is a study of %s, fit for sim sweep\n", file, st.Name, text.Plural(len(plan.Sweep.Cells), "cell")), nil
}

// collectDiagnostics adds the diagnostics in err to all. Each is added once, because an
// invalid --set fails for every file. Any other error is returned.
func collectDiagnostics(all *scenarios.Diagnostics, err error) error {
	var faults scenarios.Diagnostics
	if !errors.As(err, &faults) {
		return err
	}

	// Errors are few, so a linear search is fast enough.
	for _, f := range faults {
		if !slices.Contains(*all, f) {
			*all = append(*all, f)
		}
	}
	return nil
}

// reportLine returns a line of a report.
func reportLine(name, text string) string { return fmt.Sprintf("  %-16s %s\n", name, text) }

// fitReport breaks the lines of a report at the width of a terminal. Each line has a name and a
// text that begins at reportColumn.
func (c *command) fitReport(report string) string {
	columns := c.columns()
	if columns == 0 {
		return report
	}
	const reportColumn = 19 // two spaces, a name of 16 characters and a space
	const minText = 30      // characters per line
	var b strings.Builder
	for line := range strings.Lines(report) {
		if line = strings.TrimRight(line, "\n"); len(line) <= reportColumn {
			b.WriteString(line + "\n")
			continue
		}
		rest := text.Wrap(line[reportColumn:], max(columns-reportColumn, minText), noHang)
		b.WriteString(line[:reportColumn] + strings.ReplaceAll(rest, "\n", "\n"+strings.Repeat(" ", reportColumn)) + "\n")
	}
	return b.String()
}

// loadAll loads all scenario files with the overrides, and returns the errors of all files
// together. It prints warnings for deprecated names.
func (c *command) loadAll(files, overrides []string) (list []*scenarios.Scenario, err error) {
	var all scenarios.Diagnostics
	for _, file := range files {
		s, err := scenarios.Load(file, overrides)
		if err == nil {
			c.warn(s)
			list = append(list, s)
		}
		if err := collectDiagnostics(&all, err); err != nil {
			return nil, err
		}
	}
	if len(all) > 0 {
		return nil, all
	}
	return list, nil
}

// warn prints a warning for each deprecated name in a scenario, and for each policy that a list
// named "all" leaves out.
func (c *command) warn(s *scenarios.Scenario) {
	c.warnDeprecated(s.Deprecated)
	for _, d := range s.LeftOut {
		c.logf("%s", d)
	}
}

// warnDeprecated prints a warning for each deprecated name in a file.
func (c *command) warnDeprecated(deprecated scenarios.Diagnostics) {
	for _, d := range deprecated {
		c.logf("%s", d)
	}
}

// warnRenamed prints a warning for a deprecated name in a flag.
func (c *command) warnRenamed(old, current string) {
	c.logf("%q is deprecated; write %s", old, current)
}

// currentName returns current(name). It prints a warning if name is deprecated.
func (c *command) currentName(name string, current func(string) string) string {
	now := current(name)
	if now != name {
		c.warnRenamed(name, now)
	}
	return now
}
