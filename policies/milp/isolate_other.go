//go:build !unix

package milp

import "os/exec"

// isolate does nothing on systems without process groups.
func isolate(*exec.Cmd) {}
