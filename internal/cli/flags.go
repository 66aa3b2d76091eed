// This file defines flags: their kinds, the flags that several commands share, and the
// flags of sim run.

package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sim/engine/units"
	"sim/internal/alias"
	"sim/scenarios"
	"sim/scenarios/result"
)

// boolFlag returns a flag without a value, for the given usage text.
func boolFlag(name, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, DisableDefaultText: true, Usage: usage}
}

// noDefault is the default text of a flag whose help does not describe its absence.
const noDefault = ""

// stringFlag returns a flag with a text value. defaultText describes in the help what happens
// without the flag.
func stringFlag(name, usage, defaultText string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage, DefaultText: defaultText}
}

// defaultedFlag returns a flag with a text value and a default value.
func defaultedFlag(name, usage, value string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage, Value: value}
}

// repeatableFlag returns a flag with a text value that may be given several times.
func repeatableFlag(name, usage, defaultText string) cli.Flag {
	return &cli.StringSliceFlag{Name: name, Usage: usage, DefaultText: defaultText}
}

// formatFlag returns --format, which all commands that draw figures have.
func formatFlag() cli.Flag {
	return defaultedFlag("format", "draw figures as `FORMATS`: png, svg or png,svg", "png")
}

// scenarioFlags returns the flags that override values of a scenario file.
func scenarioFlags() []cli.Flag {
	return []cli.Flag{
		repeatableFlag("set", "set `KEY=VALUE` in the scenario, as in --set fabric.port_bandwidth=800Gbps (repeatable)", noDefault),
		&cli.Uint64Flag{Name: "seed", Usage: "use the random seed `N`", DefaultText: "the scenario's"},
		repeatableFlag("policy", "run the policies `NAMES`, such as a or a,b, instead of those in the scenario (repeatable; see sim list allocators, for tori sim list routers, for several jobs sim list multi_job_allocators)", noDefault),
	}
}

// budgetFlags returns the flags that replace the memory and time that a simulation may take.
func budgetFlags() []cli.Flag {
	b := &scenarios.DefaultBudget
	return []cli.Flag{
		stringFlag("max-memory", "reject simulations whose estimated memory exceeds `SIZE`", fmt.Sprintf("%.3g GB", b.Bytes/1e9)),
		stringFlag("max-time", "reject simulations whose estimated computing time on one core exceeds `TIME`, such as 48h", time.Duration(b.Seconds*float64(time.Second)).String()),
	}
}

// Limits of the budget of simulations. A task takes a kilobyte or more, so numbers of tasks within
// maxBudgetBytes fit 30 bits.
const (
	minBudgetBytes = 1e6
	maxBudgetBytes = 1e12
)

// setBudget sets the budget of simulations by the flags.
func setBudget(cc *cli.Context) error {
	b := scenarios.DefaultBudget
	if text := cc.String("max-memory"); cc.IsSet("max-memory") {
		size, err := units.ParseBytes(text)
		if err != nil || size < minBudgetBytes || size > maxBudgetBytes {
			return usagef("flag --max-memory needs a size of 1MB to 1TB, such as 64GB, not %q", text)
		}
		b.Bytes = float64(size)
	}
	if text := cc.String("max-time"); cc.IsSet("max-time") {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return usagef("flag --max-time needs a time such as 90m or 48h, not %q", text)
		}
		b.Seconds = d.Seconds()
	}
	scenarios.SetBudget(b)
	return nil
}

// overrides returns the scenario flags as KEY=VALUE, in the order in which they apply. It
// returns an error if --set has the key of --seed or --policy.
func overrides(cc *cli.Context) ([]string, error) {
	var out []string
	set := cc.StringSlice("set")
	// given returns the first of keys that --set has, or "".
	given := func(keys ...string) string {
		for _, s := range set {
			key, _, _ := strings.Cut(s, "=")
			if key = alias.Key(strings.TrimSpace(key)); slices.Contains(keys, key) {
				return key
			}
		}
		return ""
	}
	if cc.IsSet("seed") {
		if given("seed") != "" {
			return nil, usagef("--seed conflicts with --set seed=...; keep one of the two")
		}
		out = append(out, "seed="+strconv.FormatUint(cc.Uint64("seed"), 10))
	}
	names, err := policyNames(cc.StringSlice("policy"))
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		if key := given("policy.allocators", "policy.routers", "policy.planners", "policy.multi_job_allocators"); key != "" {
			return nil, usagef("--policy conflicts with --set %s=...; keep one of the two", key)
		}
		// The value is a list of texts in TOML.
		quoted := make([]string, len(names))
		for i, n := range names {
			quoted[i] = strconv.Quote(n)
		}
		out = append(out, "policy.allocators=["+strings.Join(quoted, ", ")+"]")
	}
	return append(out, set...), nil
}

// policyNames returns the policies of the values of --policy: names, or names with commas between
// them. A name such as all-reduce=a,all-gather=b assigns algorithms to calls and is one policy.
func policyNames(values []string) (names []string, err error) {
	for _, value := range values {
		if strings.Contains(value, "=") {
			names = append(names, value)
			continue
		}
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name == "" {
				return nil, usagef("%q is no list of policies; write a,b", value)
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// runFlags holds the flags of sim run other than the scenario flags.
type runFlags struct {
	// json selects the result document as output instead of the table.
	json bool
	// out is the result directory; "" for the default.
	out     string
	workers int // goroutines
	// outputPaths are the output files, indexed by the names in fileFlags.
	outputPaths map[string]string
	// timeline selects the tasks in the file of --trace.
	timeline scenarios.TimelineOptions
	// routesOut is the directory for forwarding tables.
	routesOut string
	// dirs are the directories that policies write to.
	dirs scenarios.OutputDirs
	// force allows to replace results of another scenario.
	force bool
	// formats are the formats of figures; empty for no figures.
	formats []string
}

// runFlagList returns the definitions of the flags of sim run.
func runFlagList() []cli.Flag {
	return append(append(scenarioFlags(), budgetFlags()...),
		boolFlag("json", "print the result document instead of the table"),
		stringFlag("out", "store the run in `DIR`; with several FILEs, each run in DIR/<scenario>-<hash>", "runs/<scenario>-<hash>"),
		forceFlag(),
		&cli.IntFlag{Name: "j", Usage: "use `N` processors; the results do not depend on N", DefaultText: "all"},
		stringFlag("trace", "write the timelines to `FILE` as a trace for https://ui.perfetto.dev", noDefault),
		&cli.IntFlag{Name: "trace-tasks", Usage: "with --trace: write the critical path and up to `N` other tasks per timeline, from complete time windows", Value: scenarios.DefaultTimelineTasks},
		stringFlag("trace-window", "with --trace: write only what runs in the simulated time `FROM..TO`, such as 10ms..20ms or 10ms..; spans that cross its ends are whole", "all"),
		stringFlag("plan-out", "write the plans of policies to `FILE`: rate schedules as CSV, plans of a collective as JSON", noDefault),
		stringFlag("routes-out", "write the forwarding tables of each router to `DIR` as CSV", noDefault),
		stringFlag("goal-out", "write the simulated tasks to `FILE` as a GOAL schedule; binary if the name ends in .bin", noDefault),
		stringFlag("chakra-out", "write the simulated tasks as Chakra execution traces, one file `PREFIX`.N.et per rank N", noDefault),
		stringFlag("cm-out", "write the simulated transfers to `FILE` as a connection matrix of htsim", noDefault),
		stringFlag("milp-export", "write each mixed-integer linear program (MILP) that a policy solves to `DIR` as MPS and LP", noDefault),
		routeCacheFlag(),
		boolFlag("no-plots", "draw no figures"),
		formatFlag(),
	)
}

// routeCacheFlag returns --route-cache, which sim run and sim sweep share.
func routeCacheFlag() cli.Flag {
	return stringFlag("route-cache", "store the paths of optimising routers in `DIR` and reuse them in later runs", noDefault)
}

// forceFlag returns --force, which sim run and sim sweep share.
func forceFlag() cli.Flag {
	return boolFlag("force", "replace the results in DIR of --out even if they belong to another scenario or have other keys")
}

// readRunFlags reads and checks the flags of sim run. files is the number of scenario files.
func readRunFlags(cc *cli.Context, files int) (runFlags, error) {
	f, err := readStorageFlags(cc)
	if err != nil {
		return f, err
	}
	// Read the flags that only sim run has, then check that they fit together.
	f.timeline.Tasks, f.routesOut, f.outputPaths = cc.Int("trace-tasks"), cc.String("routes-out"), map[string]string{}
	for _, name := range fileFlags {
		f.outputPaths[name] = cc.String(name)
	}
	if err := f.checkOutputPaths(files); err != nil {
		return f, err
	}
	if f.timeline.Tasks < 1 {
		return f, usagef("--trace-tasks is %d, want at least 1", f.timeline.Tasks)
	}
	for _, name := range []string{"trace-tasks", "trace-window"} {
		if cc.IsSet(name) && f.outputPaths["trace"] == "" {
			return f, usagef("--%s has no effect without --trace", name)
		}
	}
	if cc.IsSet("trace-window") {
		f.timeline.Window, err = parseWindow(cc.String("trace-window"))
	}
	return f, err
}

// parseWindow parses the value of --trace-window: FROM..TO, FROM.. or ..TO.
func parseWindow(value string) (w result.Window, err error) {
	const example = "such as 10ms..20ms or 10ms.."
	from, to, isRange := strings.Cut(value, "..")
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if !isRange || from+to == "" {
		return w, usagef("flag --trace-window needs two times, %s, not %q", example, value)
	}

	// An end that is missing is the end of the run.
	for _, part := range []struct {
		text string
		time *int64
	}{{from, &w.From}, {to, &w.To}} {
		if part.text == "" {
			continue
		}
		t, err := units.ParseTime(part.text)
		if err != nil {
			return w, usagef("flag --trace-window needs times, %s, not %q", example, part.text)
		}
		*part.time = int64(t)
	}
	if to != "" && w.From >= w.To {
		return w, usagef("--trace-window %s is empty; write a start before the end, %s", value, example)
	}
	return w, nil
}

// readStorageFlags reads the flags that sim run and sim sweep share: where and how results are
// stored.
func readStorageFlags(cc *cli.Context) (f runFlags, err error) {
	f = runFlags{
		json: cc.Bool("json"), out: cc.String("out"), workers: workers(cc), force: cc.Bool("force"),
		dirs: scenarios.OutputDirs{Models: cc.String("milp-export"), Routes: cc.String("route-cache")},
	}
	f.formats, err = readFormats(cc)
	return f, err
}

// workers returns the value of -j, the number of goroutines. The default is the number of
// processors.
func workers(cc *cli.Context) int {
	if cc.IsSet("j") {
		return cc.Int("j")
	}
	return runtime.GOMAXPROCS(0)
}

// checkOutputPaths returns an error if two flags name the same file, or if several scenarios
// would write the same file. scenarios is their number.
func (f *runFlags) checkOutputPaths(scenarios int) error {
	// A directory for forwarding tables is for one scenario.
	if scenarios > 1 && f.routesOut != "" {
		return usagef("--routes-out holds the routes of one scenario, so it takes one at a time, not %d", scenarios)
	}
	// written maps each output file to its flag.
	written := map[string]string{}
	for _, output := range f.outputFlags() {
		flag, file := output.name, output.path
		switch other := written[filepath.Clean(file)]; {
		case other != "":
			return usagef("%s and %s both write %s; give them different files", other, flag, file)
		case scenarios > 1:
			return usagef("%s writes one file, so it takes one scenario at a time, not %d", flag, scenarios)
		}
		written[filepath.Clean(file)] = flag
	}
	return nil
}

// readFormats returns the formats of figures without duplicates, or nil with --no-plots.
func readFormats(cc *cli.Context) (formats []string, err error) {
	if cc.Bool("no-plots") {
		if cc.IsSet("format") {
			return nil, usagef("--format selects how figures are drawn and --no-plots draws none; use one of the two")
		}
		return nil, nil
	}
	for _, name := range strings.Split(cc.String("format"), ",") {
		// Accept formats in any order, with spaces around commas.
		if name = strings.TrimSpace(name); name != "png" && name != "svg" {
			return nil, usagef("flag --format needs png, svg or png,svg, not %q", cc.String("format"))
		}
		if !slices.Contains(formats, name) {
			formats = append(formats, name)
		}
	}
	return formats, nil
}

// unsafeInPath matches the characters of a scenario name that are replaced in file names.
var unsafeInPath = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// runDir returns the directory for the run of s. It is --out itself if there is only one
// scenario file.
func runDir(s *scenarios.Scenario, f runFlags, files int) string {
	if f.out != "" && files == 1 {
		return f.out
	}
	return resultDir(cmp.Or(f.out, runsRoot), s.Name, s.Digest())
}

// resultDir returns the default directory of a run or sweep below root. The digest distinguishes
// scenarios with the same name.
func resultDir(root, name, digest string) string {
	return filepath.Join(root, fmt.Sprintf("%s-%.10s", unsafeInPath.ReplaceAllString(name, "-"), digest))
}

// runsRoot is the directory for results if --out is not given.
const runsRoot = "runs"
