//go:build !nats

package cli

import (
	"github.com/urfave/cli/v2"

	"sim/scenarios/study"
)

// noQueue says what is missing of a build without the queue.
const noQueue = "this sim was built without the queue; build it with: go build -tags nats -o sim ."

func (c *command) queueRunner(*study.Plan, sweepFlags) (study.Runner, error) {
	return nil, usageError(noQueue)
}

func (c *command) workerCommand() *cli.Command {
	return &cli.Command{
		Name:        "worker",
		Usage:       "compute the cells of a queue (in builds with -tags nats)",
		ArgsUsage:   "URL",
		Description: describe("", example{"sim worker nats://host:4222", ""}),
		Action:      func(*cli.Context) error { return usageError(noQueue) },
	}
}
