//go:build unix

package milp

import (
	"os/exec"
	"syscall"
)

// isolate has an interrupt end the program with all its children, and keeps the terminal's interrupts from it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
