package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

func (c *command) checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "check scenarios without running them, naming every fault",
		ArgsUsage: "FILE...",
		Flags: append(scenarioFlags(),
			&cli.BoolFlag{Name: "resolved", DisableDefaultText: true, Usage: "print the scenario with every default filled in"},
		),
		Action: func(cc *cli.Context) error {
			files := cc.Args().Slice()
			if len(files) == 0 {
				return usagef("sim check needs a scenario FILE")
			}
			list, err := loadAll(files, overrides(cc))
			for i, s := range list {
				switch {
				case s == nil: // its faults are in err
				case cc.Bool("resolved"):
					fmt.Fprintf(c.stdout, "%s", s.TOML())
				default:
					fmt.Fprintf(c.stdout, "%s: %s is fit to run\n", files[i], s.Name)
				}
			}
			return err
		},
	}
}
