package cli

import (
	"bytes"
	"context"
	"flag"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sim/policies/milp"
	"sim/scenarios"
	"sim/scenarios/result"
)

var interruptRepeats = flag.Int("moments", 1, "how often the long test of interrupts interrupts each command")

// hugeScenario is a job whose allocators search for minutes. One replica is simulated at flow
// level.
const hugeScenario = `
name = "huge"

[workload]
kind = "training"
model = "megatron-177b"
schedule = "interleaved-1f1b"
flows = "per-gpu"
sequence = 4096
gpus = 512
tp = 4
pp = 16
virtual_stages = 2
microbatches = 32

[fabric]
kind = "ocs-pods"
gpus_per_pod_per_replica = 4
ports_per_pod = 10
port_bandwidth = "400Gbps"
`

// gridGraph returns a grid of nodes with links in both directions, for a fabric of kind graph.
func gridGraph(side int) string {
	var b strings.Builder
	b.WriteString(`
name = "grid"

[workload]
kind = "all-to-all"
message = "256KB"
packet = "1KB"

[fabric]
kind = "graph"
edges = [
`)
	for x := range side {
		for y := range side {
			at := x*side + y
			for _, to := range []int{x*side + (y+1)%side, (x+1)%side*side + y} {
				for _, e := range [][2]int{{at, to}, {to, at}} {
					b.WriteString("  [" + strconv.Itoa(e[0]) + ", " + strconv.Itoa(e[1]) + "],\n")
				}
			}
		}
	}
	b.WriteString("]\n\n[policy]\nrouters = [\"shortest\", \"ecmp\"]\n")
	return b.String()
}

// interruptedCommands has commands of every kind. Most of them take much longer than ten
// seconds. big is a run of 10,000 micro-batches.
var interruptedCommands = []struct {
	name string
	args string // separated by spaces, so values contain none
}{
	{"delta-fast", `run huge.toml --set policy.allocators=["delta-fast"]`},
	{"delta-topo", `run huge.toml --set policy.allocators=["delta-topo"]`},
	{"delta-joint", `run huge.toml --set policy.allocators=["delta-joint"]`},
	{"heterogeneous replicas", `run megatron462b --set workload.replicas=all --set replica.1.compute_scale=1.2`},
	{"several jobs", `run twojobs --set job.0.workload.microbatches=2048`},
	{"robustness", `run robustness --set trials.count=20000`},
	{"milp", `run gpt7b --set policy.allocators=["delta-topo-milp"] --set workload.microbatches=32`},
	{"packets on a torus", `run fault --set fabric.dims=[8,8,8] --set fabric.twist="" --set fabric.failed_ocs=[] --set policy.routers=["dor","ecmp"] --set workload.message="256KB"`},
	{"credits on a torus", `run fault --set fabric.dims=[8,8,8] --set fabric.twist="" --set fabric.failed_ocs=[] --set policy.routers=["dor"] --set workload.message="256KB" --set fabric.queue=credit`},
	{"fluid on a torus", `run fault --set fabric.dims=[4,8,8] --set policy.routers=["ecmp"] --set engine.level=flow`},
	{"loads on a torus", `run fault --set fabric.dims=[16,16,16] --set fabric.twist="" --set fabric.failed_ocs=[] --set policy.routers=["shortest","ecmp","random-shortest","wild-first"] --set engine.level=static`},
	{"route-optimised", `run fault --set fabric.dims=[8,8,16] --set policy.routers=["route-optimised"] --set engine.level=static`},
	{"graph", `run grid.toml`},
	{"uniform all-to-all", `run reconfigure --set fabric.gpus=256`},
	{"unequal all-to-all", `run reconfigure --set fabric.gpus=256 --set workload.sizes=zipf`},
	{"steps of experts", `run moe-scaleup --set workload.ep=128 --set workload.gpus=4096`},
	{"sweep of jobs", `sweep delta-fig11 --out sweep`},
	{"sweep of tori", `sweep latency-load --out sweep`},
	{"sweep of planners", `sweep fig14 --out sweep`},
	{"figures", `plot big --out figures --format png,svg`},
	{"explanation", `explain big`},
}

// maxInterruptWait is the maximum running time before a command is interrupted.
const maxInterruptWait = 10 * time.Second

// TestInterruptedInTime interrupts commands at random times, or within the first three
// quarters of their duration if they end earlier. Each exits with 130 within a second and
// leaves no new files, except the finished cells of a sweep and the finished rows of a run.
func TestInterruptedInTime(t *testing.T) {
	if !*long {
		t.Skip("takes minutes")
	}
	home := t.TempDir()
	for name, text := range map[string]string{"huge.toml": hugeScenario, "grid.toml": gridGraph(16)} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("truesim", "run", "gpt7b", "--set", "workload.microbatches=10000", "--no-plots", "--out", filepath.Join(home, "big")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, tt := range interruptedCommands {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := milp.Find(""); err != nil && tt.name == "milp" {
				t.Skip(err)
			}
			h := fnv.New64a()
			h.Write([]byte(tt.name))
			random := rand.New(rand.NewPCG(1, h.Sum64()))
			worst, at := time.Duration(0), time.Duration(0)
			args := strings.Fields(tt.args)
			maxWait, ended := interruptAt(t, home, args, maxInterruptWait)
			if !ended {
				maxWait = maxInterruptWait
			}
			for range *interruptRepeats {
				moment := 50*time.Millisecond + time.Duration(random.Int64N(int64(maxWait)*3/4))
				took, ended := interruptAt(t, home, args, moment)
				if ended {
					t.Errorf("%s: it ended by itself within %v, and took %v before", tt.args, took, maxWait)
				} else if took > worst {
					worst, at = took, moment
				}
			}
			t.Logf("%d moments, at worst ended %v after the interrupt at %v", *interruptRepeats, worst.Round(time.Millisecond), at.Round(time.Millisecond))
		})
	}
}

// interruptAt runs a command in home, interrupts it after the time moment and returns how long
// it then took to exit. If the command succeeded before, ended is true and took is its
// duration.
func interruptAt(t *testing.T, home string, args []string, moment time.Duration) (took time.Duration, ended bool) {
	t.Helper()
	defer os.RemoveAll(filepath.Join(home, "runs"))
	before := pathsBelow(t, home)
	defer os.RemoveAll(filepath.Join(home, "sweep"))
	defer os.RemoveAll(filepath.Join(home, "figures"))
	cmd := exec.Command("truesim", args...)
	var output bytes.Buffer
	cmd.Dir, cmd.Stderr = home, &output
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- cmd.Wait() }()
	select {
	case err := <-end:
		if err != nil {
			t.Fatalf("%s: it ended by itself: %v: %s", strings.Join(args, " "), err, &output)
		}
		return time.Since(begun), true
	case <-time.After(moment):
	}
	begun = time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-end:
	case <-time.After(20 * time.Second):
		cmd.Process.Kill()
		<-end
	}
	took = time.Since(begun)
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || took > time.Second {
		t.Errorf("%s, interrupted at %v, ended %v later with %d: %s", strings.Join(args, " "), moment, took, code, &output)
	}
	for _, name := range pathsBelow(t, home) {
		if isOutput := strings.HasPrefix(name, "sweep") || strings.HasPrefix(name, "figures") || strings.Contains(output.String(), "rows, which are kept in"); !slices.Contains(before, name) && (!isOutput || strings.Contains(name, "tmp")) {
			t.Errorf("%s, interrupted at %v, leaves %s", strings.Join(args, " "), moment, name)
		}
	}
	return took, false
}

// pathsBelow returns the paths of all files below a directory.
func pathsBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			path, err = filepath.Rel(dir, path)
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestAbandoned: the process does not wait for a command that ignores an interrupt. The
// unfinished file is removed, and the command cannot commit it afterwards.
func TestAbandoned(t *testing.T) {
	c, _, stderr := newBufferedCommand()
	dir := filepath.Join(t.TempDir(), "run")
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	c.run = func(context.Context, *scenarios.Scenario, scenarios.RunOptions) (*scenarios.Outcome, error) {
		close(begun)
		<-end
		close(ended)
		return nil, context.Canceled
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if code := c.mainUntilCancelled(ctx, []string{"sim", "run", "gpt7b", "--no-plots", "--out", dir}); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) > 0 {
		t.Errorf("it leaves %v, %v", entries, err)
	}
	if got, want := stderr.String(), "sim: interrupted; "+nothingWrittenNote+"\n"; !strings.HasSuffix(got, want) {
		t.Errorf("it says %q, want %q at the end", got, want)
	}
	close(end)
	<-ended
}

// TestFinishedRows: an interrupted run with finished rows stores and prints them without figures,
// unless a previous run is in its directory.
func TestFinishedRows(t *testing.T) {
	home := t.TempDir()
	for _, tt := range []struct {
		dir      string
		finished int
		want     string
	}{
		{"some", 3, "interrupted after 3 of 4 rows, which are kept in some; run the same command for all rows"},
		{"some", 3, "interrupted after 3 of 4 rows, a previous run stays in its directory; run the same command for all rows"},
		{"all", 4, "interrupted after 4 of 4 rows, which are kept in all; run the same command for the figures"},
	} {
		t.Chdir(home)
		ctx, cancel := context.WithCancel(t.Context())
		c, stdout, stderr := newBufferedCommand()
		c.run = func(context.Context, *scenarios.Scenario, scenarios.RunOptions) (*scenarios.Outcome, error) {
			cancel()
			o := fakeOutcome()
			if tt.finished == len(o.Document.Rows) {
				return o, nil
			}
			o.Document.Rows[3] = result.Row{Policy: "delta-joint", Metrics: map[string]float64{}, Labels: map[string]string{"failed": "the run was interrupted"}}
			return o, context.Canceled
		}
		if code := c.main(ctx, []string{"sim", "run", "deepseek671b", "--out", tt.dir, "--force"}); code != exitInterrupted || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("exit code %d: %s, want %s", code, stderr, tt.want)
		}
		if text := stdout.String(); tt.finished < 4 && (!strings.Contains(text, "* delta-fast") || !strings.Contains(text, "delta-joint failed: the run was interrupted")) {
			t.Errorf("it prints %s", text)
		}
		names := pathsBelow(t, tt.dir)
		if !slices.Contains(names, "result.json") || slices.Contains(names, result.PlotsDir) {
			t.Errorf("the directory has %v", names)
		}
	}
}

// TestAbandonedDir: the directory of an abandoned run is not committed.
func TestAbandonedDir(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	d, err := result.Create(path, result.Claim{Scenario: "s", Digest: "d"})
	if err != nil {
		t.Fatal(err)
	}
	d.Abort()
	if err := d.Commit(); err == nil {
		t.Error("it is put in place")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it is there")
	}
}
