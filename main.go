// Command sim simulates the networks of large AI jobs. It compares topologies, routers and
// reconfigurations by the completion time of a job, and reports how far each is from a lower
// bound. README.md shows how to use it.
package main

import (
	"os"

	"sim/internal/cli"
)

func main() { os.Exit(cli.Main()) }
