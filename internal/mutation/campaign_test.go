package mutation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A campaign holds compiled tests with all mutants of a sample, and the tests that reach each
// mutant.
type campaign struct {
	t       *testing.T
	dir     string // holds the compiled tests, and a directory for each worker
	all     map[string]*goPackage
	mutants []mutant
	outside map[int]bool // numbers of mutants that cannot be switched on
	reached [][]*oneTest // indexed by mutant
}

// oneTest is a test function with the mutants that it reaches.
type oneTest struct {
	pkg, name string
	cost      time.Duration
	passes    bool
	reaches   []int
}

// newCampaign compiles all tests with the mutants and runs each test once. The number of a
// mutant is its index plus 1.
func newCampaign(t *testing.T, all map[string]*goPackage, list []mutant) (*campaign, error) {
	c := &campaign{t: t, dir: t.TempDir(), all: all, mutants: list, outside: map[int]bool{}, reached: make([][]*oneTest, len(list))}
	byFile := map[string]map[int]mutant{}
	for i, m := range list {
		if byFile[m.file] == nil {
			byFile[m.file] = map[int]mutant{}
		}
		byFile[m.file][i+1] = m
	}
	changed := map[string][]byte{}
	for path, some := range byFile {
		text, outside, err := instrumented(path, some)
		if err != nil {
			return nil, err
		}
		for _, n := range outside {
			c.outside[n] = true
		}
		changed[path] = text
		for _, m := range some {
			changed[filepath.Join(m.home.Dir, "mutants_switch.go")] = fmt.Appendf(nil, switchFile, m.home.Name)
		}
	}
	overlay, err := writeOverlay(c.dir, changed)
	if err != nil {
		return nil, err
	}
	var paths []string // packages with tests that depend on a mutant
	for _, m := range list {
		if len(m.home.TestGoFiles)+len(m.home.XTestGoFiles) > 0 {
			paths = append(paths, m.home.ImportPath)
		}
		paths = append(paths, m.home.importers...)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	tests := make([][]*oneTest, len(paths))
	if err := each(len(paths), func(worker, i int) error {
		cmd := exec.Command("go", "test", "-vet=off", "-c", "-overlay", overlay, "-o", c.binary(paths[i]), paths[i])
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("compile the tests of %s: %w: %s", paths[i], err, out)
		}
		out, err := c.command(context.Background(), worker, 0, paths[i], "-test.list", "^(Test|Fuzz|Example)").Output()
		if err != nil {
			return fmt.Errorf("list the tests of %s: %w", paths[i], err)
		}
		for name := range strings.Lines(string(out)) {
			tests[i] = append(tests[i], &oneTest{pkg: paths[i], name: strings.TrimSpace(name)})
		}
		return nil
	}); err != nil {
		return nil, err
	}
	one := slices.Concat(tests...)
	if err := each(len(one), func(worker, i int) error { return c.note(worker, one[i]) }); err != nil {
		return nil, err
	}
	for _, o := range one {
		if !o.passes {
			t.Logf("%s of %s fails without a mutant and is left out", o.name, o.pkg)
			continue
		}
		for _, n := range o.reaches {
			c.reached[n-1] = append(c.reached[n-1], o)
		}
	}
	return c, nil
}

// binary returns the path of the compiled tests of a package.
func (c *campaign) binary(path string) string {
	return filepath.Join(c.dir, strings.ReplaceAll(path, "/", "_")+".test")
}

// command returns a command that runs the tests of a package with one active mutant and at
// most 16 GB of address space.
func (c *campaign) command(ctx context.Context, worker, number int, path string, args ...string) *exec.Cmd {
	dir := c.workerDir(worker)
	temp := filepath.Join(dir, "tmp")
	if err := errors.Join(os.RemoveAll(temp), os.MkdirAll(temp, 0o777), os.WriteFile(filepath.Join(dir, "mutant.number"), []byte(strconv.Itoa(number)), 0o666)); err != nil {
		c.t.Error(err)
	}
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -v 16000000; exec "$0" "$@"`, c.binary(path)}, args...)...)
	cmd.Dir = c.all[path].Dir
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (c *campaign) workerDir(worker int) string {
	return filepath.Join(c.dir, fmt.Sprint("worker", worker))
}

// note runs a test and records its cost and the mutants that it reaches.
func (c *campaign) note(worker int, o *oneTest) error {
	reached := filepath.Join(c.workerDir(worker), "mutants.reached")
	os.Remove(reached)
	cmd := c.command(context.Background(), worker, -1, o.pkg, "-test.run", "^"+o.name+"$", "-test.timeout", "10m")
	o.passes = cmd.Run() == nil
	o.cost = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	text, err := os.ReadFile(reached)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return fmt.Errorf("mutants that %s of %s reaches: %w", o.name, o.pkg, err)
		}
		o.reaches = append(o.reaches, n)
	}
	slices.Sort(o.reaches)
	o.reaches = slices.Compact(o.reaches) // several programs of one test may note it
	return err
}

var failed = regexp.MustCompile(`--- FAIL: (\S+)`)

// try returns the outcome of mutant i: killed, with the test that fails, or survived.
func (c *campaign) try(worker, i int) string {
	if c.outside[i+1] {
		return c.tryAlone(c.mutants[i])
	}
	type group struct {
		names []string
		cost  time.Duration
	}
	groups := map[string]*group{}
	for _, o := range c.reached[i] {
		g := groups[o.pkg]
		if g == nil {
			g = new(group)
			groups[o.pkg] = g
		}
		g.names = append(g.names, o.name)
		g.cost += o.cost
	}
	var order []string
	for path := range groups {
		order = append(order, path)
	}
	home := c.mutants[i].home.ImportPath
	slices.SortFunc(order, func(a, b string) int {
		if (a == home) != (b == home) {
			return map[bool]int{true: -1, false: 1}[a == home]
		}
		return cmp.Or(cmp.Compare(groups[a].cost, groups[b].cost), strings.Compare(a, b))
	})
	for _, path := range order {
		g := groups[path]
		ctx, stop := context.WithTimeout(context.Background(), time.Minute+5*g.cost)
		cmd := c.command(ctx, worker, i+1, path, "-test.failfast", "-test.run", "^("+strings.Join(g.names, "|")+")$", "-test.timeout", "1h")
		out, err := cmd.CombinedOutput()
		late := ctx.Err() != nil
		stop()
		switch name := failed.FindSubmatch(out); {
		case late:
			return "killed by a test of " + path + " that does not end"
		case err != nil && name == nil:
			return "killed by a panic in " + path
		case err != nil:
			return fmt.Sprintf("killed by %s of %s", name[1], path)
		}
	}
	return fmt.Sprintf("survived %d tests that reach it", len(c.reached[i]))
}

// tryAlone compiles a mutant by itself and runs the tests of its package and of all packages
// that depend on it.
func (c *campaign) tryAlone(m mutant) string {
	dir := c.t.TempDir()
	text, err := os.ReadFile(m.file)
	if err != nil {
		c.t.Error(err)
	}
	overlay, err := writeOverlay(dir, map[string][]byte{m.file: m.apply(text)})
	if err != nil {
		c.t.Error(err)
	}
	for _, path := range append([]string{m.home.ImportPath}, m.home.importers...) {
		cmd := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-failfast", "-timeout", "10m", path)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			name := append(failed.FindSubmatch(out), nil, nil)[1]
			return fmt.Sprintf("killed by %s of %s", name, path)
		}
	}
	return "survived all tests of the packages that depend on it"
}
