// Command sim simulates the networks that large AI jobs run on and says which
// topology, routing or reconfiguration finishes a job first, by how much, and
// how far that is from the best possible.
//
// This package turns flags into calls and results into tables and files: one
// file a command, no physics. README.md shows how to use it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(start(standard())) }

// start runs c on the process's arguments. The first interrupt cancels the
// work in hand, which is not waited for long; after it signals have their default effect again, so that a
// second one kills.
func start(c *command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return c.mainWithin(ctx, os.Args)
}
