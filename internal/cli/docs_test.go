//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"sim/scenarios"
)

// documents are patterns of the files whose commands and scenarios must work. The steps
// example and tutorial of .ci/run also execute the commands of extending.md and tutorial.md in
// order.
var documents = []string{"../../README.md", "../../CONTRIBUTING.md", "../../docs/*.md"}

// skippedCommands are beginnings of commands that take more than a few seconds, with their
// duration. For these, TestDocs only checks the scenarios of runs and the studies of sweeps.
var skippedCommands = map[string]string{
	"sim run deepseek671b --set workload.gpus":              "8 to 16 s",
	"sim run scenarios/deepseek671b.toml --set fabric.port": "5 s, and TestCertified runs it",
	"sim run compose/tiers --set workload.gpus=65536":       "8 s",
	"sim run tori/pod4096 --set engine.level=packet":        "minutes",
	"sim run megatron177b --set workload.replicas=all":      "20 s",
	"sim run fault --set fabric.dims=[4,8,8]":               "5 s",
	"sim run compose/all-reduce-torus --set 'policy.coll":   "3 s",
	"sim run reconfigure --":                                "15 to 40 s",
	"sim run training-calls --policy dor --set":             "5 s",
	"sim sweep latency-load":                                "minutes",
	"sim sweep twist-512":                                   "minutes",
	"sim sweep twisted --set fabric.dims":                   "64 cells",
	"sim sweep study.toml":                                  "24 cells",
	"sim validate":                                          "half a minute, and TestStored runs a sample",
	"sim run deepseek671b -j 1":                             "1 s, and TestBaselines runs it",
	"sim run robustness --":                                 "2 s",
	"sim run fleet --set workload.days=365":                 "1 s",
	"sim run tori/pod4096 --set engine.level=static":        "1 s",
	"sim run mixtral8x22b --set policy.lender_allocator":    "1 s, and TestScripts/lender runs it",
}

// externalFiles are beginnings of commands that TestDocs does not run, with the reason or the
// test that covers them.
var externalFiles = map[string]string{
	"go run .":                          "steps readme and example",
	"go build":                          "steps example and queue",
	"go test":                           "step tests",
	"make rename":                       "release_test.go",
	"make reproduction":                 "tests that -reproduction has",
	"eval \"$(./sim completion bash)\"": "TestScripts/completion",
	"sim plot delta-fig6":               "step baselines sweeps it, TestScripts/plotsweep plots",
	"sim run tori/pod4096 --set engine.level=flow": "BenchmarkScale; 20 s and 1.8 GB",
	"sim sweep reconfigure --policy":               "minutes",
	"sim sweep study.toml --queue":                 "step queue",
	"sim sweep study.toml --join":                  "tests of --join",
	"sim sweep table3-predicted":                   "TestEmbeddedStudies, which checks every study",
	"sim worker":                                   "step queue",
	"SIM_TOKEN=$(cat token) sim worker":            "step queue",
	"nats-server":                                  "step queue, which has one in the program",
	"(umask 077; openssl rand":                     "not of sim",
	"sbatch":                                       "TestClusters",
	"kubectl apply":                                "TestClusters",
}

// docStep is a command or a scenario in a document. A scenario has the file name under which
// the reader saves it, if there is one.
type docStep struct {
	place, command string
	name, scenario string
}

var inlineCommand = regexp.MustCompile("`(sim [^`]+)`")

// readDocSteps returns the steps of a document: blocks of sh and TOML in order, followed by
// commands in backquotes.
func readDocSteps(t *testing.T, path string) (list []docStep) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var info string // info string of the current block
	open, n := false, 0
	var prose strings.Builder
	for line := range strings.Lines(string(data)) {
		n++
		place := fmt.Sprintf("%s:%d", path, n)
		text, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		language, _, _ := strings.Cut(info, " ")
		switch {
		case isFence:
			open, info = !open, text
			if language, name, _ := strings.Cut(info, " "); open && language == "toml" {
				list = append(list, docStep{place: place, name: name})
			}
			prose.WriteString("\n")
		case !open:
			prose.WriteString(line)
		case language == "sh":
			command, _, _ := strings.Cut(line, " #")
			if command = strings.TrimSpace(command); command != "" {
				list = append(list, docStep{place: place, command: command})
			}
		case language == "toml":
			list[len(list)-1].scenario += line
		}
	}
	if open {
		t.Errorf("%s: a block is not closed", path)
	}
	for _, m := range inlineCommand.FindAllStringSubmatch(prose.String(), -1) {
		list = append(list, docStep{place: path, command: strings.Join(strings.Fields(m[1]), " ")})
	}
	return list
}

// placeholderPattern matches words that the reader replaces, such as FILE, [POLICY] and host,
// and dots for omitted text.
var placeholderPattern = regexp.MustCompile(`^\[?-*[A-Z][A-Z|]*\]?(\.\.\.)?$|\.\.\.|^[^=]*//|=[A-Z]+$|TOKEN`)

// TestDocs: the commands in documents succeed and the scenarios are valid. Slow commands are
// only checked. For commands with placeholders, and for shipped scenarios and studies without
// changes (see TestBaselines and TestEmbeddedStudies), only the flags are checked.
func TestDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a hundred commands")
	}
	t.Parallel()
	r := &runner{t: t}
	defer r.stop()
	done := map[string]bool{}
	runs := makeDocRuns(t, r)
	for _, pattern := range documents {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			dir := t.TempDir()
			addSurroundings(t, runs, dir)
			for i, c := range readDocSteps(t, file) {
				switch {
				case c.command == "":
					c.check(t, r, dir, i)
				case !done[file+c.command]:
					done[file+c.command] = true
					c.run(t, r, dir)
				}
			}
		}
	}
}

// makeDocRuns makes two runs that documents name.
func makeDocRuns(t *testing.T, r *runner) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, rate := range map[string]string{"old": "400Gbps", "new": "200Gbps"} {
		a := r.run(dir, []string{"run", "gpt7b", "--policy", "sqrt-alloc", "--set", "fabric.port_bandwidth=" + rate, "--no-plots", "--out", name})
		if a.err != nil || a.Code != exitOK {
			t.Fatalf("%v\n%s", a.err, a.Stderr)
		}
	}
	return dir
}

// addSurroundings creates the files that documents presuppose: the shipped scenarios, a
// workload, and two runs.
func addSurroundings(t *testing.T, runs, dir string) {
	t.Helper()
	shipped, err := filepath.Abs("../../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "runs"), os.DirFS(runs)); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]string{
		"scenarios": shipped, "workload.txt": filepath.Join(shipped, "compose/trace.txt"), "old": "runs/old", "new": "runs/new",
	} {
		if err := os.Symlink(of, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// check checks a TOML block and saves it in dir.
func (c *docStep) check(t *testing.T, r *runner, dir string, i int) {
	name := c.name
	if strings.HasPrefix(name, ".") { // a file of another program
		return
	}
	if name == "" {
		name = fmt.Sprintf("block%d.toml", i)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(c.scenario), 0o666); err != nil {
		t.Fatal(err)
	}
	if a := r.run(dir, []string{"check", name}); a.err != nil || a.Code != exitOK {
		t.Errorf("%s: %v\n%s", c.place, a.err, a.Stderr)
	}
}

// run runs a command, or only checks it if it is slow.
func (c *docStep) run(t *testing.T, r *runner, dir string) {
	for begin := range externalFiles {
		if strings.HasPrefix(c.command, begin) {
			return
		}
	}
	args, bad := splitWords(c.command)
	for len(args) > 0 && strings.Contains(args[0], "=") { // environment variables
		args = args[1:]
	}
	if bad != "" || len(args) == 0 || args[0] != "sim" && args[0] != "./sim" {
		t.Errorf("%s: nothing sees to it that this works: %s %s", c.place, c.command, bad)
		return
	}
	args = args[1:]
	if i := slices.IndexFunc(args, func(a string) bool { return a == ">" || a == "|" }); i >= 0 {
		args = args[:i]
	}
	if slices.ContainsFunc(args, func(a string) bool { return placeholderPattern.MatchString(a) }) || len(args) == 1 {
		c.checkFlags(t, args)
		return
	}
	checked := false
	for begin := range skippedCommands {
		checked = checked || strings.HasPrefix(c.command, begin)
	}
	if args[0] == "validate" && checked {
		c.checkFlags(t, args)
		return
	}
	if args[0] == "run" || args[0] == "sweep" || args[0] == "check" {
		if len(args) == 2 && isShipped(args[1]) {
			c.checkFlags(t, args)
			return
		}
		if checked && args[0] != "check" {
			c.checkFlags(t, args)
			args = checkArgs(args)
		}
	}
	switch args[0] {
	case "run":
		args = append(args, "--no-plots")
	case "sweep":
		args = append(args, "--dry-run")
	}
	a := r.run(dir, args)
	if a.Used > 2*time.Second {
		t.Logf("%v: %s", a.Used.Round(time.Millisecond), c.command)
	}
	if bytes.Contains(a.Stderr, []byte("no MILP solver is on the PATH")) {
		t.Logf("left out without a solver: %s", c.command)
		return
	}
	if a.err != nil || a.Code != exitOK && !(args[0] == "compare" && a.Code == exitRegression) {
		t.Errorf("%s: %s: exit code %d %v\n%s", c.place, c.command, a.Code, a.err, bytes.TrimSpace(a.Stderr))
	}
}

// isShipped reports whether name is a built-in scenario or study.
func isShipped(name string) bool {
	return slices.ContainsFunc(append(scenarios.EmbeddedScenarios(), scenarios.EmbeddedStudies()...), func(path string) bool {
		return strings.TrimSuffix(filepath.Base(path), ".toml") == strings.TrimSuffix(filepath.Base(name), ".toml")
	})
}

// checkArgs returns the arguments of sim check that correspond to the arguments of a run or a
// sweep: its files and overrides.
func checkArgs(args []string) []string {
	list := []string{"check"}
	for i := 1; i < len(args); i++ {
		switch {
		case args[i] == "--set":
			list = append(list, args[i], args[i+1])
			i++
		case strings.HasPrefix(args[i], "--") && !strings.Contains(args[i], "=") && !slices.Contains([]string{"--json", "--no-plots"}, args[i]), args[i] == "-j", args[i] == "-o":
			i++
		case !strings.HasPrefix(args[i], "-"):
			list = append(list, args[i])
		}
	}
	return list
}

// checkFlags checks that a command and its flags exist.
func (c *docStep) checkFlags(t *testing.T, args []string) {
	app := newCommand().app()
	at := slices.IndexFunc(app.Commands, func(k *cli.Command) bool { return k.Name == args[0] })
	if at < 0 {
		if args[0] != "help" {
			t.Errorf("%s: there is no command sim %s", c.place, args[0])
		}
		return
	}
	var flags []string
	for _, f := range app.Commands[at].Flags {
		flags = append(flags, f.Names()...)
	}
	for _, a := range args[1:] {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if strings.HasPrefix(a, "-") && !slices.Contains(flags, name) {
			t.Errorf("%s: sim %s has no flag %s", c.place, args[0], a)
		}
	}
}
