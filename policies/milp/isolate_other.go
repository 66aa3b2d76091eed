//go:build !unix

package milp

import "os/exec"

// isolate does nothing where there are no process groups.
func isolate(*exec.Cmd) {}
