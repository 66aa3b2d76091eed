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

	"github.com/urfave/cli/v2"

	"sim/scenarios"
)

// boolFlag is a flag without a value.
func boolFlag(name, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, DisableDefaultText: true, Usage: usage}
}

// stringFlag is a flag with a text; help shows what holds without it, "" for nothing.
func stringFlag(name, usage, defaultText string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage, DefaultText: defaultText}
}

// defaultedFlag is a flag with a text that has a default.
func defaultedFlag(name, usage, value string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage, Value: value}
}

// repeatableFlag is an option that may be given several times.
func repeatableFlag(name, usage, defaultText string) cli.Flag {
	return &cli.StringSliceFlag{Name: name, Usage: usage, DefaultText: defaultText}
}

// formatFlag is that of all commands that draw figures.
func formatFlag() cli.Flag {
	return defaultedFlag("format", "draw figures as `FORMATS`: png, svg or png,svg", "png")
}

// scenarioFlags change what a scenario file says.
func scenarioFlags() []cli.Flag {
	return []cli.Flag{
		repeatableFlag("set", "override `KEY=VALUE` of the scenario, as in --set fabric.port_bandwidth=800Gbps (repeatable)", ""),
		&cli.Uint64Flag{Name: "seed", Usage: "override the scenario's seed with `N`", DefaultText: "the scenario's"},
		repeatableFlag("policy", "run the policy `NAME` instead of those the scenario names (repeatable; sim list allocators names them, of tori sim list routers, and of several jobs sim list arbiters)", ""),
	}
}

// overrides returns the scenario flags as key=value. It fails where --set says what another flag says.
func overrides(cc *cli.Context) ([]string, error) {
	var out []string
	set := cc.StringSlice("set")
	given := func(keys ...string) string {
		for _, s := range set {
			if key, _, _ := strings.Cut(s, "="); slices.Contains(keys, strings.TrimSpace(key)) {
				return strings.TrimSpace(key)
			}
		}
		return ""
	}
	if cc.IsSet("seed") {
		if given("seed") != "" {
			return nil, usagef("--seed stands beside --set seed=...; keep one of the two")
		}
		out = append(out, "seed="+strconv.FormatUint(cc.Uint64("seed"), 10))
	}
	if names := cc.StringSlice("policy"); len(names) > 0 {
		if key := given("policy.allocators", "policy.routers", "policy.planners", "policy.arbiters"); key != "" {
			return nil, usagef("--policy stands beside --set %s=...; keep one of the two", key)
		}
		quoted := make([]string, len(names))
		for i, n := range names {
			quoted[i] = strconv.Quote(n)
		}
		out = append(out, "policy.allocators=["+strings.Join(quoted, ", ")+"]")
	}
	return append(out, set...), nil
}

// runFlags are the flags of `sim run` that are not the scenario's.
type runFlags struct {
	json        bool
	out         string
	workers     int
	outputPaths map[string]string // files by flag of fileFlags
	// traceTasks is the number of tasks of each timeline in a trace, besides critical paths.
	traceTasks int
	routesOut  string
	dirs       scenarios.OutputDirs
	force      bool     // replace the results of others
	formats    []string // of figures; none for no figures
}

func runFlagList() []cli.Flag {
	return append(scenarioFlags(),
		boolFlag("json", "print the result document instead of the table"),
		stringFlag("out", "keep the run in `DIR`; with several FILEs, each in DIR/<scenario>-<hash>", "runs/<scenario>-<hash>"),
		forceFlag(),
		&cli.IntFlag{Name: "j", Usage: "compute on `N` processors; changes no result", DefaultText: "all"},
		stringFlag("trace", "write the timelines to `FILE` for https://ui.perfetto.dev", ""),
		&cli.IntFlag{Name: "trace-tasks", Usage: "with --trace, show the critical path and up to `N` other tasks of each timeline, in whole time windows", Value: scenarios.DefaultTimelineTasks},
		stringFlag("plan-out", "write what policies plan to `FILE`: rate schedules as CSV, plans of a collective as JSON", ""),
		stringFlag("routes-out", "write the forwarding tables of every router into `DIR` as CSV", ""),
		stringFlag("goal-out", "write what is simulated to `FILE` as a GOAL schedule, binary where its name ends in .bin", ""),
		stringFlag("chakra-out", "write what is simulated as Chakra execution traces, `PREFIX`.N.et for rank N", ""),
		stringFlag("cm-out", "write what is sent to `FILE` as a connection matrix of htsim", ""),
		stringFlag("milp-export", "write each model of a MILP solver into `DIR` as MPS and LP", ""),
		routeCacheFlag(),
		boolFlag("no-plots", "draw no figures"),
		formatFlag(),
	)
}

// routeCacheFlag is a flag of `sim run` and `sim sweep`.
func routeCacheFlag() cli.Flag {
	return stringFlag("route-cache", "keep the routes that an optimising router finds in `DIR`, for the next run", "")
}

// forceFlag is that of `sim run` and `sim sweep`.
func forceFlag() cli.Flag {
	return boolFlag("force", "replace what --out's DIR holds of another scenario, or of the same with other keys")
}

// readRunFlags checks the flags for a run of so many files.
func readRunFlags(cc *cli.Context, files int) (runFlags, error) {
	f, err := readStorageFlags(cc)
	if err != nil {
		return f, err
	}
	f.traceTasks, f.routesOut, f.outputPaths = cc.Int("trace-tasks"), cc.String("routes-out"), map[string]string{}
	for _, name := range fileFlags {
		f.outputPaths[name] = cc.String(name)
	}
	if err := f.checkOutputPaths(files); err != nil {
		return f, err
	}
	switch {
	case f.traceTasks < 1:
		return f, usagef("--trace-tasks is %d, want at least 1", f.traceTasks)
	case cc.IsSet("trace-tasks") && f.outputPaths["trace"] == "":
		return f, usagef("--trace-tasks has no effect without --trace")
	}
	return f, nil
}

// readStorageFlags reads the flags that sim run and sim sweep have in common: where results are kept, and how.
func readStorageFlags(cc *cli.Context) (f runFlags, err error) {
	f = runFlags{
		json: cc.Bool("json"), out: cc.String("out"), workers: workers(cc), force: cc.Bool("force"),
		dirs: scenarios.OutputDirs{Models: cc.String("milp-export"), Routes: cc.String("route-cache")},
	}
	f.formats, err = readFormats(cc)
	return f, err
}

// workers is what -j says, or as many as there are processors.
func workers(cc *cli.Context) int {
	if cc.IsSet("j") {
		return cc.Int("j")
	}
	return runtime.GOMAXPROCS(0)
}

// checkOutputPaths fails where two flags write one file, or one would be written by so many scenarios.
func (f *runFlags) checkOutputPaths(scenarios int) error {
	if scenarios > 1 && f.routesOut != "" {
		return usagef("--routes-out holds the routes of one scenario, so it takes one at a time, not %d", scenarios)
	}
	written := map[string]string{}
	for _, of := range f.outputFlags() {
		flag, file := of[0], of[1]
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

// readFormats returns the formats of figures, none where none are to be drawn.
func readFormats(cc *cli.Context) (formats []string, err error) {
	if cc.Bool("no-plots") {
		if cc.IsSet("format") {
			return nil, usagef("--format says how figures are drawn and --no-plots draws none; use one of the two")
		}
		return nil, nil
	}
	for _, name := range strings.Split(cc.String("format"), ",") {
		if name = strings.TrimSpace(name); name != "png" && name != "svg" {
			return nil, usagef("flag --format wants png, svg or png,svg, not %q", cc.String("format"))
		}
		if !slices.Contains(formats, name) {
			formats = append(formats, name)
		}
	}
	return formats, nil
}

// unsafeInPath is what of a scenario's name does not go into a file's.
var unsafeInPath = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// runDir is where the run of s is kept.
func runDir(s *scenarios.Scenario, f runFlags, files int) string {
	if f.out != "" && files == 1 {
		return f.out
	}
	return resultDir(cmp.Or(f.out, runsRoot), s.Name, s.Digest())
}

// resultDir is the directory of a run or a sweep in another.
func resultDir(root, name, digest string) string {
	return filepath.Join(root, fmt.Sprintf("%s-%.10s", unsafeInPath.ReplaceAllString(name, "-"), digest))
}

// runsRoot is where runs are kept unless --out says otherwise.
const runsRoot = "runs"
