// Command sim simulates the networks that large AI jobs run on and says which topology, routing or reconfiguration
// finishes a job first, by how much, and how far that is from the best possible. README.md shows how to use it.
package main

import (
	"os"

	"sim/internal/cli"
)

func main() { os.Exit(cli.Main()) }
