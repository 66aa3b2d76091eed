package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/report"
	"sim/scenarios/result"
)

func (c *command) explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "say what sets the time of a finished run, and where each policy's time goes",
		ArgsUsage: "RUN [POLICY]",
		Description: describe("RUN is a run directory, or the name of a scenario whose newest run under runs/ is meant.\n"+
			"Without POLICY the best one is explained.\n"+
			"Of a training, the critical path, and how it differs from those of other policies; of several jobs, each\n"+
			"job's, and the ports that each has; of traffic on links, the most loaded links and who loads them; of a\n"+
			"collective's plan, its phases; of a fleet, what chip-time goes to, and what single changes would give, each of\n"+
			"which is simulated.",
			example{"sim explain deepseek671b", "the best policy of the newest run"},
			example{"sim explain runs/mine POLICY", "another one"}),
		Action: func(cc *cli.Context) error {
			if cc.NArg() < 1 || cc.NArg() > 2 {
				return usagef("sim explain takes a RUN and perhaps a POLICY")
			}
			run, err := findRun(cc.Args().Get(0))
			if err != nil {
				return err
			}
			sim, err := findSimulation(run, cc.Args().Get(1))
			if err != nil {
				return err
			}
			if _, err = io.WriteString(c.stdout, report.Explain(run, sim, c.bold())); err != nil || sim.Fleet == nil {
				return err
			}
			return c.printGains(cc.Context, run, sim.Policy)
		},
	}
}

// printGains prints what single changes would give a fleet under a policy, which is simulated with each.
func (c *command) printGains(ctx context.Context, run *result.Run, policy string) error {
	file := filepath.Join(run.Dir, result.ScenarioFile)
	s, err := scenarios.Load(file, nil)
	if err != nil {
		return err
	}
	gains, seeds, err := s.Gains(ctx, policy)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.stdout, report.Gains(policy, gains, seeds, c.bold()))
	return err
}

// findRun reads a run directory, or the newest run of a scenario.
func findRun(name string) (*result.Run, error) {
	dir, err := findResult(name, "run", result.Runs(result.List(runsRoot)))
	if err != nil {
		return nil, err
	}
	return result.Read(dir)
}

// errNoTimeline is for runs whose engine keeps no critical paths.
var errNoTimeline = errors.New("it holds no policy's timeline, so there is nothing to explain")

// findSimulation returns the simulation of a policy, or of the best when it is "".
func findSimulation(run *result.Run, policy string) (*result.Simulation, error) {
	if len(run.Detail.Policies) == 0 {
		return nil, &result.PlaceError{Path: run.Dir, Why: errNoTimeline.Error()}
	}
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
	var known []string
	for _, p := range run.Detail.Policies {
		known = append(known, p.Policy)
	}
	return nil, usagef("%s has no policy %q%s", run.Dir, policy, text.DidYouMean(policy, known, "it has "+strings.Join(known, ", ")))
}
