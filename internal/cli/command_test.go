package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"sim/scenarios"
)

var (
	update = flag.Bool("update", false, "rewrite golden files and scripts")
	long   = flag.Bool("long", false, "run the tests that take a minute")
)

// scriptCommand returns the command that scripts call as sim. Its results are invented (see
// fakeRun), so that scripts can contain them. The real command is truesim.
func scriptCommand() *command {
	c := newCommand()
	c.run = fakeRun
	return c
}

// programs lists the programs that the test binary can act as, by name.
var programs = map[string]func(){
	"sim":     func() { os.Exit(runWithSignals(scriptCommand())) },
	"truesim": func() { os.Exit(runWithSignals(newCommand())) },
}

func TestMain(m *testing.M) {
	testscript.Main(m, programs)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": expectExit, "killed": expectKill, "unprinted": expectWriteFailure},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Getuid() == 0, nil
			case "full":
				_, err := os.Stat("/dev/full")
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// expectExit implements the script command "exits CODE [interrupted] PROGRAM ARG...", which
// runs a program and compares its exit code. An interrupted program gets SIGINT after its
// first output.
func expectExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE [interrupted] PROGRAM ARG...")
	}
	want, args := args[0], args[1:]
	interrupt := args[0] == "interrupted"
	if interrupt {
		args = args[1:]
	}
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	stdout := &firstWriteSignal{happened: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(ts.Stdout(), stdout), ts.Stderr()
	ts.Check(cmd.Start())
	if interrupt {
		<-stdout.happened
		cmd.Process.Signal(os.Interrupt)
	}
	cmd.Wait()
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != want {
		ts.Fatalf("%s exited with %s, want %s", strings.Join(args, " "), got, want)
	}
}

// expectWriteFailure implements the script command "unprinted PROGRAM ARG...", which runs a
// program whose output cannot be written. The program must report this and exit with 1.
func expectWriteFailure(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: unprinted PROGRAM ARG...")
	}
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	ts.Check(err)
	defer full.Close()
	var output bytes.Buffer
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	cmd.Stdout, cmd.Stderr = full, &output
	cmd.Run() // the exit code is checked below
	if code := cmd.ProcessState.ExitCode(); code != 1 || bytes.Count(output.Bytes(), []byte("no space left on device")) != 1 {
		ts.Fatalf("%s exited with %d and said %q", strings.Join(args, " "), code, output.String())
	}
}

// expectKill implements the script command "killed FILE LINES PROGRAM ARG...", which kills a
// program with SIGKILL as soon as a file has the given number of lines.
func expectKill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: killed FILE LINES PROGRAM ARG...")
	}
	file := ts.MkAbs(args[0])
	lines, err := strconv.Atoi(args[1])
	ts.Check(err)
	path, err := exec.LookPath(args[2])
	ts.Check(err)
	cmd := exec.Command(path, args[3:]...)
	cmd.Dir = ts.Getenv("WORK")
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for {
		select {
		case <-ended:
			ts.Fatalf("%s ended before it could be killed", strings.Join(args[2:], " "))
		case <-time.After(time.Millisecond):
		}
		data, matches := []byte(nil), []string{file}
		if strings.Contains(args[0], "*") {
			matches, _ = filepath.Glob(file)
		}
		for _, m := range matches {
			if part, err := os.ReadFile(m); err == nil {
				data = append(data, part...)
			}
		}
		if bytes.Count(data, []byte("\n")) >= lines {
			cmd.Process.Kill()
			<-ended
			return
		}
	}
}

// firstWriteSignal closes a channel at the first write.
type firstWriteSignal struct {
	once     sync.Once
	happened chan struct{}
}

func (w *firstWriteSignal) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.happened) })
	return len(p), nil
}

// newBufferedCommand returns a command whose outputs are buffers, as if they were pipes.
func newBufferedCommand() (c *command, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	return &command{
		stdout: stdout, stderr: stderr,
		getenv:        func(string) string { return "" },
		isTerminal:    func(io.Writer) bool { return false },
		terminalWidth: func(io.Writer) int { return 0 },
		now:           func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		run:           fakeRun,
	}, stdout, stderr
}

// compareGolden compares got with the file testdata/golden/name.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// TestExamples: the help of every command has examples, and their flags and scenarios exist.
func TestExamples(t *testing.T) {
	app := newCommand().app()
	for _, cmd := range app.Commands {
		if cmd.Hidden {
			continue
		}
		_, lines, ok := strings.Cut(cmd.Description, "Examples:\n\n")
		if !ok {
			t.Errorf("sim help %s has no examples", cmd.Name)
		}
		for line := range strings.SplitSeq(lines, "\n") {
			text, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
			if !strings.HasPrefix(text, "sim ") {
				continue
			}
			text, _, _ = strings.Cut(text, " > ")
			text, _, _ = strings.Cut(text, " | ")
			args, err := flagsFirst(app, strings.Fields(text))
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if name := args[len(args)-1]; (args[1] == "run" || args[1] == "sweep") && name != "my.toml" {
				if _, err := scenarios.LoadStudy(name, nil); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}
