// This file defines sim explain, and finds the runs and policies that it names.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/report"
	"sim/scenarios/result"
)

// explainCommand returns the definition of sim explain.
func (c *command) explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "explain what determines the time of a finished run, and where the time of each policy goes",
		ArgsUsage: "RUN [POLICY...]",
		Description: describe("RUN is a run directory or the name of a scenario, for its newest run under runs/.\n"+
			"Without POLICY, the best policy is explained. The explanation depends on the scenario:\n"+
			"for training, the critical path and how it differs from those of other policies; for several jobs, the critical\n"+
			"path and the ports of each job; for traffic on links, the most loaded links and the flows on them; for a\n"+
			"collective plan, its phases; for a fleet, the uses of chip-time and the effect of single changes, each of\n"+
			"which is simulated.",
			example{"sim explain deepseek671b", "the best policy of the newest run"},
			example{"sim explain runs/mine POLICY", "another policy"},
			example{"sim explain runs/mine --policy a,b", "several policies, one after the other"}),
		Flags: []cli.Flag{
			repeatableFlag("policy", "explain the policies `NAMES`, such as a or a,b (repeatable)", "the best policy"),
		},
		Action: func(cc *cli.Context) error {
			if cc.NArg() < 1 {
				return usagef("sim explain takes a RUN and optionally policies")
			}
			policies, err := policyNames(append(cc.Args().Slice()[1:], cc.StringSlice("policy")...))
			if err != nil {
				return err
			}
			if policies == nil {
				const best = ""
				policies = []string{best}
			}

			// Read the run, and find all policies before anything is printed.
			run, err := findRun(cc.Args().Get(0))
			if err != nil {
				return err
			}
			var simulations []*result.Simulation
			for _, policy := range policies {
				sim, err := findSimulation(run, policy)
				if err != nil {
					return err
				}
				simulations = append(simulations, sim)
			}

			// Explain them and, for a fleet, simulate single changes.
			for i, sim := range simulations {
				if i > 0 {
					fmt.Fprintln(c.stdout)
				}
				if _, err = io.WriteString(c.stdout, report.Explain(run, sim, c.style())); err != nil {
					return err
				}
				if sim.Fleet == nil {
					continue
				}
				if err := c.printGains(cc.Context, run, sim.Policy); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// printGains prints how single changes would affect a fleet under a policy. Each change is
// simulated with the scenario of the run, which takes about as long as the run itself.
func (c *command) printGains(ctx context.Context, run *result.Run, policy string) error {
	// The run directory contains the scenario with all defaults.
	var overrides []string
	file := filepath.Join(run.Dir, result.ScenarioFile)
	s, err := scenarios.Load(file, overrides)
	if err != nil {
		return err
	}
	gains, seeds, err := s.Gains(ctx, policy)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.stdout, report.Gains(policy, gains, seeds, c.style()))
	return err
}

// findRun reads a run: a run directory, or the newest run of a scenario under runsRoot.
func findRun(name string) (*result.Run, error) {
	dir, err := findResult(name, "run", result.Runs(result.List(runsRoot)))
	if err != nil {
		return nil, err
	}
	return result.Read(dir)
}

// errNoTimeline is the reason for runs whose engine stores no critical paths.
var errNoTimeline = errors.New("the run has no timeline of any policy, so there is nothing to explain")

// findSimulation returns the simulation of a policy, or of the best policy if the name is
// empty.
func findSimulation(run *result.Run, policy string) (*result.Simulation, error) {
	if len(run.Detail.Policies) == 0 {
		return nil, &result.PlaceError{Path: run.Dir, Why: errNoTimeline.Error()}
	}
	// Without a name, select the best policy, or else the first one.
	if policy == "" {
		if best, _ := run.Document.Winner(); best >= 0 {
			policy = run.Document.Rows[best].Policy
		}
		if p := run.Detail.Simulation(policy); p != nil {
			return p, nil
		}
		return &run.Detail.Policies[0], nil
	}
	if p := run.Detail.Simulation(policy); p != nil {
		return p, nil
	}
	// Suggest the most similar name.
	var known []string
	for _, p := range run.Detail.Policies {
		known = append(known, p.Policy)
	}
	return nil, usagef("%s has no policy %q%s", run.Dir, policy, text.DidYouMean(policy, known, "it has "+strings.Join(known, ", ")))
}
