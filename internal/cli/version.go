package cli

import (
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"

	"sim/scenarios/result"
)

func (c *command) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(cc *cli.Context) error {
			if cc.NArg() > 0 {
				return usagef("sim version takes no arguments")
			}
			_, err := fmt.Fprintf(c.stdout, "sim %s (revision %s, %s %s/%s)\n",
				result.Version, result.Revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
