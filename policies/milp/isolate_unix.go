//go:build unix

package milp

import (
	"os/exec"
	"syscall"
)

// isolate starts the program in a process group of its own. Cancellation kills the group with all
// children, and interrupts from the terminal do not reach it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
