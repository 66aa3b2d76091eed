//go:build nats

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"sim/scenarios/queue"
	"sim/scenarios/queue/embedded"
	"sim/scenarios/result"
	"sim/scenarios/study"
)

// writeFiles writes files to a new directory and returns it.
func writeFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestQueueTaken: if the address is in use, the sweep fails and leaves no files.
func TestQueueTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := writeFiles(t, map[string]string{"queued.toml": queuedStudy})
	address := taken.Addr().String()
	cmd, out := simCommand(t, dir, "sweep", "queued.toml", "--queue", "embedded", "--listen", "t@"+address, "--no-plots")
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitInvalidInput || !strings.Contains(out.String(), "nobody can listen at "+address+": bind: address already in use") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestQueueToken: listening without a token prints a warning. A token from a file or the
// environment avoids it.
func TestQueueToken(t *testing.T) {
	dir := writeFiles(t, map[string]string{"token": "s3/cret\n", "queued.toml": `
name = "queued"
base = "gpt7b"
policy.allocators = ["prop-alloc"]
[sweep]
seed = "1..2"
`})
	const warning = "can take cells and return arbitrary results"
	for i, c := range []struct {
		env, args []string
		warned    bool
	}{
		{nil, nil, true},
		{nil, []string{"--token-file", "token"}, false},
		{[]string{"SIM_TOKEN=s3cret"}, nil, false},
		{[]string{"SIM_TOKEN="}, nil, true},
	} {
		args := append([]string{"sweep", "queued.toml", "--queue", "embedded", "--listen", "127.0.0.1:0", "--no-plots", "--out", fmt.Sprint("out", i)}, c.args...)
		cmd, out := simCommand(t, dir, args...)
		cmd.Env = append(os.Environ(), c.env...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", c, err, out)
		}
		if strings.Contains(out.String(), warning) != c.warned || strings.Contains(out.String(), "s3") {
			t.Errorf("%v:\n%s", c, out)
		}
	}

	s, err := embedded.Start("127.0.0.1:0", "s3/cret", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address := "nats://" + s.URL()[strings.LastIndex(s.URL(), "@")+1:]
	worker, _ := simCommand(t, dir, "worker", address)
	worker.Env = append(os.Environ(), "SIM_TOKEN=s3/cret")
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		worker.Process.Kill()
		worker.Wait()
	}()
	runSim(t, dir, "sweep", "queued.toml", "--queue", address, "--token-file", "token", "--no-plots", "--out", "there")
	if manifest, err := os.ReadFile(filepath.Join(dir, "there", "manifest.json")); err != nil || strings.Contains(string(manifest), "cret") {
		t.Errorf("the token is kept: %v\n%s", err, manifest)
	}
}

// TestQueueStrangeWorkers: unexpected answers of workers and servers become failed cells with
// plain messages.
func TestQueueStrangeWorkers(t *testing.T) {
	dir := writeFiles(t, map[string]string{"queued.toml": `
name = "queued"
base = "gpt7b"
policy.allocators = ["prop-alloc"]
[sweep]
seed = "1..6"
`})
	s, err := embedded.Start("127.0.0.1:0", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- queue.Work(ctx, queue.WorkerOptions{Peer: queue.Peer{URL: s.URL(), Version: queueVersion(), Workers: 1}}, func(_ context.Context, task []byte) ([]byte, error) {
			var to study.Task
			if err := json.Unmarshal(task, &to); err != nil {
				return nil, err
			}
			n++
			switch n {
			case 1:
				return json.Marshal(study.Record{Key: to.Key})
			case 2:
				return json.Marshal(study.Record{Key: to.Key, Failed: "\x1b[2J\x1b[31mred\nsim: done"})
			case 3:
				return json.Marshal(study.Record{Key: "other", Metrics: map[string]float64{"nct": 1}})
			case 4:
				return json.Marshal(study.Record{Key: to.Key, Metrics: map[string]float64{"nct\x1b[2J\nx": 1}})
			case 5:
				return []byte("\x00\x01"), nil
			}
			return nil, fmt.Errorf("%s", strings.Repeat("long ", 1<<20))
		})
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	cmd, out := simCommand(t, dir, "sweep", "queued.toml", "--queue", s.URL(), "--no-plots", "--out", "out")
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{
		"failed: sweep: a result without metrics\n", `failed: \x1b[2J\x1b[31mred; sim: done` + "\n", "the result of another cell",
		"failed: sweep: a result with a metric \"nct\\\\x1b[2J; x\"\n", "failed: sweep: a result that cannot be read: ", "long lo...\n", "6 cells of 6 failed",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out.String()) {
		if strings.ContainsAny(strings.TrimRight(line, "\n"), "\x00\x01\x1b\r") || len(line) > 600 {
			t.Errorf("%.600q", line)
		}
	}
}

// TestQueueLargeItem: a cell that is too large for the server fails each time, and the message
// does not suggest another attempt.
func TestQueueLargeItem(t *testing.T) {
	row := strings.Repeat("1,", 128)
	var matrix strings.Builder
	for i := range 128 {
		matrix.WriteString(row[:2*i] + "0" + row[2*i+1:len(row)-1] + "\n")
	}
	dir := writeFiles(t, map[string]string{"m.csv": matrix.String(), "queued.toml": `
name = "queued"
[workload]
kind = "matrix"
matrix_file = "m.csv"
[fabric]
kind = "torus"
dims = [4, 4, 8]
[policy]
routers = ["dor"]
[engine]
level = "static"
[sweep]
seed = "1..2"
`})
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: filepath.Join(dir, "store"), MaxPayload: 32 << 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(5 * time.Second) {
		t.Fatal("no server")
	}
	cmd, out := simCommand(t, dir, "sweep", "queued.toml", "--queue", s.ClientURL(), "--no-plots", "--out", "out")
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitInvalidInput {
		t.Errorf("exit %d", code)
	}
	if text := out.String(); strings.Count(text, "of which the server takes 32768 at most; raise its max_payload") != 2 ||
		!strings.Contains(text, "fail each time") || strings.Contains(text, "again") {
		t.Errorf("%s", text)
	}
}

// TestQueueCarriesFiles: a task contains the files that its cell needs. A worker in another
// directory computes cells with traces, mappings and steps, and its results equal the results
// of a sweep without a queue.
func TestQueueCarriesFiles(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"t.goal":    "num_ranks 2\nrank 0 {\nl1: send 1000b to 1 tag 0\n}\nrank 1 {\nl1: recv 1000b from 0 tag 0\n}\n",
		"ranks.txt": "1\n0\n",
		"queued.toml": `
[workload]
kind = "trace"
files = "t.goal"
[fabric]
kind = "torus"
dims = [2]
[policy]
routers = ["dor"]
mapping = "ranks.txt"
[sweep]
seed = "1..2"
`})
	s, err := embedded.Start("127.0.0.1:0", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	worker, _ := simCommand(t, t.TempDir(), "worker", s.URL())
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		worker.Process.Kill()
		worker.Wait()
	}()
	runSim(t, dir, "sweep", "queued.toml", "--queue", s.URL(), "--no-plots", "--out", "there")
	runSim(t, dir, "sweep", "queued.toml", "--no-plots", "--out", "here")
	var csv [2]string
	for i, name := range []string{"there", "here"} {
		data, err := os.ReadFile(filepath.Join(dir, name, "metrics.csv"))
		if err != nil {
			t.Fatal(err)
		}
		csv[i] = string(data)
	}
	if csv[0] != csv[1] || strings.Count(csv[0], "\n") < 3 {
		t.Errorf("with a queue:\n%s\nwithout:\n%s", csv[0], csv[1])
	}
}

// TestQueueOpensNoFiles: a process that adds tasks to a queue cannot read files of a worker. A
// task that names a file fails with the same message whether the file exists or not, and the
// message quotes no content.
func TestQueueOpensNoFiles(t *testing.T) {
	dir := writeFiles(t, map[string]string{"secret": "password = hunter2\n"})
	for _, scenario := range []string{
		"base = \"%s\"\n",
		"base = \"/proc/self/environ\" # %s\n",
		"[workload]\nkind = \"trace\"\nfiles = [\"%s\"]\nformat = \"goal\"\n[fabric]\nkind = \"torus\"\ndims = [2]\n",
		"[workload]\nkind = \"matrix\"\nmatrix_file = \"%s\"\n[fabric]\nkind = \"torus\"\ndims = [2]\n",
	} {
		var reported []string
		for _, name := range []string{"secret", "absent"} {
			file := filepath.ToSlash(filepath.Join(dir, name))
			task, err := json.Marshal(study.Task{Key: "k", Policy: "dor", Model: result.Model, Scenario: fmt.Sprintf(scenario, file)})
			if err != nil {
				t.Fatal(err)
			}
			data, err := study.RunTask(context.Background(), task)
			if err != nil {
				t.Fatal(err)
			}
			var r study.Record
			if err := json.Unmarshal(data, &r); err != nil || r.Failed == "" {
				t.Fatalf("%s: %s, want a failure", scenario, data)
			}
			reported = append(reported, strings.ReplaceAll(r.Failed, name, "FILE"))
		}
		if reported[0] != reported[1] || strings.Contains(reported[0], "hunter2") || strings.Contains(reported[0], "PATH=") {
			t.Errorf("%s: a worker tells %q of a file and %q of none", scenario, reported[0], reported[1])
		}
	}
}
