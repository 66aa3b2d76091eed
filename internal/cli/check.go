package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/study"
)

func (c *command) checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "check scenarios without running them, reporting every error",
		ArgsUsage: "FILE...",
		Description: describe("",
			example{"sim check my.toml other.toml", "every mistake of both, with its line"},
			example{"sim check gpt7b --resolved", "the scenario with all defaults, to begin a file with"}),
		Flags: append(scenarioFlags(),
			boolFlag("resolved", "print the scenario with every default filled in"),
		),
		Action: func(cc *cli.Context) error {
			files := cc.Args().Slice()
			if len(files) == 0 {
				return usagef("sim check needs a scenario FILE")
			}
			set, err := overrides(cc)
			if err != nil {
				return err
			}
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

// checkFile returns what is said of a scenario or a study without faults.
func (c *command) checkFile(ctx context.Context, file string, overrides []string, resolved bool) (shown []byte, err error) {
	if !scenarios.IsStudy(file) {
		s, err := scenarios.Load(file, overrides)
		if err != nil {
			return nil, err
		}
		c.warnDeprecated(s)
		if resolved {
			return s.TOML(), nil
		}
		shown = fmt.Appendf(nil, "%s: %s is OK\n%s", file, s.Name, s.Report())
		if cost, err := s.Cost(ctx); err == nil && cost != (scenarios.Cost{}) {
			shown = fmt.Appendf(shown, "  %-16s about %v to simulate each policy\n", "cost", cost)
		}
		return shown, nil
	}
	st, err := scenarios.LoadStudy(file, overrides)
	if err != nil {
		return nil, err
	}
	plan, err := study.NewPlan(ctx, st)
	if err != nil {
		return nil, err
	}
	first, err := st.Variant(0)
	if err != nil {
		return nil, err
	}
	c.warnDeprecated(first)
	if resolved {
		return st.TOML()
	}
	return fmt.Appendf(nil, "%s: %s is a study of %s, fit for sim sweep\n", file, st.Name, text.Plural(len(plan.Sweep.Cells), "cell")), nil
}

// collectDiagnostics adds the faults in err to all, each once, such as a mistaken --set of several files. It returns another error.
func collectDiagnostics(all *scenarios.Diagnostics, err error) error {
	var faults scenarios.Diagnostics
	if !errors.As(err, &faults) {
		return err
	}
	for _, f := range faults {
		if !slices.Contains(*all, f) {
			*all = append(*all, f)
		}
	}
	return nil
}

// loadAll loads scenarios, one for each file, and returns the faults of all. It warns of deprecated names.
func (c *command) loadAll(files, overrides []string) (list []*scenarios.Scenario, err error) {
	var all scenarios.Diagnostics
	for _, file := range files {
		s, err := scenarios.Load(file, overrides)
		if err == nil {
			c.warnDeprecated(s)
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

// warnDeprecated tells which names of a scenario's file are deprecated.
func (c *command) warnDeprecated(s *scenarios.Scenario) {
	for _, d := range s.Deprecated {
		c.logf("%s", d)
	}
}
