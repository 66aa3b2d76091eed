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
			toggle("resolved", "print the scenario with every default filled in"),
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
			studies, err := c.checkStudies(cc.Context, files, set, cc.Bool("resolved"))
			if err != nil {
				return err
			}
			files = slices.DeleteFunc(files, func(f string) bool { return slices.Contains(studies, f) })
			list, err := c.loadAll(files, set)
			for i, s := range list {
				switch {
				case s == nil: // its faults are in err
				case cc.Bool("resolved"):
					fmt.Fprintf(c.stdout, "%s", s.TOML())
				default:
					fmt.Fprintf(c.stdout, "%s: %s is OK\n%s", files[i], s.Name, s.Report())
					if cost, err := s.Cost(cc.Context); err == nil && cost != (scenarios.Cost{}) {
						fmt.Fprintf(c.stdout, "  %-16s about %v to simulate each policy\n", "cost", cost)
					}
				}
			}
			return err
		},
	}
}

// checkStudies checks those of files that are studies and returns which. The faults of all are in the error.
func (c *command) checkStudies(ctx context.Context, files, overrides []string, resolved bool) (studies []string, err error) {
	var all scenarios.Diagnostics
	for _, file := range files {
		if !scenarios.IsStudy(file) {
			continue
		}
		studies = append(studies, file)
		st, err := scenarios.LoadStudy(file, overrides)
		var plan *study.Plan
		if err == nil {
			plan, err = study.NewPlan(ctx, st)
		}
		if err == nil {
			var first *scenarios.Scenario
			if first, err = st.Variant(0); err == nil {
				c.warnDeprecated(first)
			}
		}
		var faults scenarios.Diagnostics
		switch {
		case errors.As(err, &faults):
			all = append(all, faults...)
		case err != nil:
			return studies, err
		case resolved:
			text, err := st.TOML()
			if err != nil {
				return studies, err
			}
			fmt.Fprintf(c.stdout, "%s", text)
		default:
			fmt.Fprintf(c.stdout, "%s: %s is a study of %s, fit for sim sweep\n", file, st.Name, text.Plural(len(plan.Sweep.Cells), "cell"))
		}
	}
	if len(all) > 0 {
		return studies, all
	}
	return studies, nil
}

// loadAll loads scenarios, one for each file and nil where it cannot be, and returns the faults of all: one that they
// have in common, such as a mistaken --set, only once. It warns of deprecated names.
func (c *command) loadAll(files, overrides []string) ([]*scenarios.Scenario, error) {
	list := make([]*scenarios.Scenario, len(files))
	var all scenarios.Diagnostics
	for i, file := range files {
		s, err := scenarios.Load(file, overrides)
		var faults scenarios.Diagnostics
		switch {
		case errors.As(err, &faults):
			for _, f := range faults {
				if !slices.Contains(all, f) {
					all = append(all, f)
				}
			}
		case err != nil:
			return list, err
		default:
			list[i] = s
			c.warnDeprecated(s)
		}
	}
	if len(all) > 0 {
		return list, all
	}
	return list, nil
}

// warnDeprecated tells which names of a scenario's file are deprecated.
func (c *command) warnDeprecated(s *scenarios.Scenario) {
	for _, d := range s.Deprecated {
		c.say("%s", d)
	}
}
