//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runner is a process that runs sim commands one after another, which is faster than one
// process per command. It is started on first use, and again after a command that ended it.
type runner struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
	end io.Closer
	// peak is the maximum memory of the process, in bytes.
	peak int64
	log  bytes.Buffer // stderr of the process, for crash messages
}

// runnerCommand is a command for the runner, and commandResult its result.
type (
	runnerCommand struct {
		Dir  string
		Args [][]byte // may be invalid UTF-8
	}
	commandResult struct {
		Code           int
		Stdout, Stderr []byte
		Used           time.Duration // processor time
		Peak           int64         // maximum memory of the process so far, in bytes
		err            error
	}
)

// run runs the real sim in dir.
func (s *runner) run(dir string, args []string) commandResult {
	if s.cmd == nil {
		if err := s.start(); err != nil {
			return commandResult{err: err}
		}
	}
	late := time.AfterFunc(6*maxBadInputTime, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	var a commandResult
	asked := runnerCommand{Dir: dir}
	for _, arg := range args {
		asked.Args = append(asked.Args, []byte(arg))
	}
	err := s.in.Encode(asked)
	if err == nil {
		err = s.out.Decode(&a)
	}
	if err != nil {
		s.stop()
		return commandResult{Stderr: s.log.Bytes(), err: fmt.Errorf("the process ended (%v) or took too long", s.cmd)}
	}
	s.peak = a.Peak
	return a
}

func (s *runner) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.log.Reset()
	s.cmd = exec.Command(self)
	s.cmd.Args = []string{"simrunner"} // TestMain selects the program by name
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	s.cmd.Stderr = &s.log
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.in, s.out, s.end = json.NewEncoder(in), json.NewDecoder(out), in
	return s.cmd.Start()
}

// stop ends the process and checks that its memory stayed below the limit for invalid input.
func (s *runner) stop() {
	if s.cmd == nil {
		return
	}
	s.end.Close()
	s.cmd.Wait() // the exit status has been reported
	if s.peak > maxBadInputBytes {
		s.t.Errorf("a command took %d MiB", s.peak>>20)
	}
	s.cmd, s.peak = nil, 0
}

func init() { programs["simrunner"] = func() { os.Exit(runServer()) } }

// runServer is the main function of the process: it runs the commands that it reads, until
// there are no more, and returns the exit code.
func runServer() int {
	debug.SetGCPercent(100) // the default of sim, whose memory is measured
	debug.SetMemoryLimit(math.MaxInt64)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var s runnerCommand
		if in.Decode(&s) != nil {
			return 0
		}
		for _, name := range []string{"HOME", "TMPDIR"} {
			os.Setenv(name, s.Dir)
		}
		if err := os.Chdir(s.Dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		args := []string{"sim"}
		for _, arg := range s.Args {
			args = append(args, string(arg))
		}
		var stdout, stderr bytes.Buffer
		c := newCommand()
		c.stdout, c.stderr = &stdout, &stderr
		begin := processorTime()
		code := c.mainUntilCancelled(context.Background(), args)
		a := commandResult{Code: code, Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Used: processorTime() - begin, Peak: peakMemory()}
		if err := out.Encode(a); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapAlloc > 64<<20 {
			debug.FreeOSMemory() // so that the memory of one command is not counted for the next
		}
	}
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory returns the maximum memory that this process has used, in bytes. On Linux,
// Rusage.Maxrss includes the memory of the parent process, so the value is read from /proc.
func peakMemory() int64 {
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
			var kib int64
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				return kib << 10
			}
		}
	}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
