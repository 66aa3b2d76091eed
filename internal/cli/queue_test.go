//go:build nats

package cli

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sim/scenarios/queue/embedded"
	"sim/scenarios/result"
)

const queuedStudy = `
name = "queued"
base = "gpt7b"
policy.allocators = ["sqrt-alloc", "delta-fast", "delta-joint"]
[sweep]
workload.microbatches = "2..16 step 2"
seed = "1..5"
`

// simCommand returns a sim command that runs in its own process.
func simCommand(t *testing.T, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"truesim"}, args...) // TestMain selects the program by name
	cmd.Dir = dir
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

func runSim(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd, out := simCommand(t, dir, args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("sim %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out.String()
}

// localSweep runs the study without a queue, for comparison.
func localSweep(t *testing.T, dir string) []byte {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "queued.toml"), []byte(queuedStudy), 0o666); err != nil {
		t.Fatal(err)
	}
	runSim(t, dir, "sweep", "queued.toml", "--no-plots", "--out", "local")
	return readSweepFile(t, dir, "local")
}

func readSweepFile(t *testing.T, dir, sweep string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, sweep, result.SweepFile))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEmbeddedQueue: a sweep with an embedded server gives the same bytes as one without a
// queue.
func TestEmbeddedQueue(t *testing.T) {
	dir := t.TempDir()
	want := localSweep(t, dir)
	runSim(t, dir, "sweep", "queued.toml", "--queue", "embedded", "-j", "3", "--no-plots", "--out", "embedded")
	if !bytes.Equal(readSweepFile(t, dir, "embedded"), want) {
		t.Error("the queue changed the result")
	}
}

// TestKilledWorker runs one server and three workers and kills one worker during a cell. Every
// cell is in the result once, and the result equals a local sweep.
func TestKilledWorker(t *testing.T) {
	if !*long {
		t.Skip("waits until the queue misses a worker: go test -tags nats . -run KilledWorker -long")
	}
	dir := t.TempDir()
	want := localSweep(t, dir)
	server, err := embedded.Start("127.0.0.1:0", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	at, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	var workers []*exec.Cmd
	for range 3 {
		w, _ := simCommand(t, dir, "worker", at.String(), "-j", "1")
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			w.Process.Kill()
			w.Wait()
		}()
		workers = append(workers, w)
	}
	sweep, out := simCommand(t, dir, "sweep", "queued.toml", "--queue", at.String(), "--no-plots", "--out", "queue")
	if err := sweep.Start(); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(dir, "queue", "cells.jsonl")
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		if data, err := os.ReadFile(journal); err == nil && bytes.Count(data, []byte("\n")) >= 15 {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("no cell was computed:\n%s", out)
		}
	}
	workers[1].Process.Kill()
	if err := sweep.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !bytes.Equal(readSweepFile(t, dir, "queue"), want) {
		t.Error("the queue changed the result")
	}
	data, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	var doc result.Sweep
	if err := json.Unmarshal(want, &doc); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("\n")); n != len(doc.Cells) {
		t.Errorf("the journal has %d cells of %d", n, len(doc.Cells))
	}
}

// TestDeadQueue: an unreachable queue is reported in one line, and finished cells are kept.
func TestDeadQueue(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "queued.toml"), []byte(queuedStudy), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"sweep", "queued.toml", "--queue", "nats://127.0.0.1:1", "--no-plots", "--out", "dead"},
		{"worker", "nats://127.0.0.1:1"},
	} {
		cmd, out := simCommand(t, dir, args...)
		err := cmd.Run()
		if code := cmd.ProcessState.ExitCode(); err == nil || code != exitFailed {
			t.Errorf("%v: exit %d\n%s", args, code, out)
		}
		if !strings.Contains(out.String(), "nats://127.0.0.1:1: no server answers") {
			t.Errorf("%v:\n%s", args, out)
		}
	}
	for _, args := range [][]string{{"sweep", "queued.toml", "--queue", "here"}, {"worker"}, {"worker", "nats://x", "-j", "0"}, {"worker", "nats://x", "--idle", "soon"}} {
		cmd, out := simCommand(t, dir, args...)
		if cmd.Run(); cmd.ProcessState.ExitCode() != exitInvalidInput {
			t.Errorf("%v: exit %d\n%s", args, cmd.ProcessState.ExitCode(), out)
		}
	}
}
