// This file defines sim version and sim man.

package cli

import (
	"fmt"
	"io"
	"runtime"

	"github.com/urfave/cli/v2"

	"sim/scenarios/result"
)

// versionCommand returns the definition of sim version.
func (c *command) versionCommand() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version",
		Description: describeExamples(example{"sim version", ""}),
		Action: func(cc *cli.Context) error {
			if cc.NArg() > 0 {
				return usagef("sim version takes no arguments")
			}

			// The revision and the platform identify the build in reports of errors.
			_, err := fmt.Fprintf(c.stdout, "sim %s (revision %s, %s %s/%s)\n",
				result.Version, result.Revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// manCommand returns the definition of sim man, which prints the manual. It is generated from
// the flags and descriptions of all commands.
func (c *command) manCommand() *cli.Command {
	return &cli.Command{
		Name:        "man",
		Usage:       "print the manual page",
		Description: describeExamples(example{"sim man > /usr/local/share/man/man1/sim.1", ""}),
		Action: func(cc *cli.Context) error {
			const section = 1 // user commands
			page, err := cc.App.ToManWithSection(section)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.stdout, page)
			return err
		},
	}
}
