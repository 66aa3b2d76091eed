// This file defines sim compare, and finds the results that commands name.

package cli

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"sim/internal/alias"
	"sim/internal/text"
	"sim/scenarios/compare"
	"sim/scenarios/result"
)

// compareFormats lists the output formats of sim compare, each with the function that writes it.
var compareFormats = []struct {
	name  string
	write func(*compare.Comparison, io.Writer, compare.View) error
}{
	{"text", (*compare.Comparison).WriteText},
	{"markdown", (*compare.Comparison).WriteMarkdown},
	{"csv", (*compare.Comparison).WriteCSV},
	{"json", (*compare.Comparison).WriteJSON},
}

// compareFormatNames returns the names of compareFormats in order.
func compareFormatNames() []string {
	var out []string
	for _, f := range compareFormats {
		out = append(out, f.name)
	}
	return out
}

// noHang is the indentation of wrapped lines of metric names.
const noHang = 0

// compareCommand returns the definition of sim compare.
func (c *command) compareCommand() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "show the differences between two runs, sweeps or baselines, and fail if a metric became worse",
		ArgsUsage: "OLD NEW",
		Description: describe("OLD and NEW are each the directory of a run or sweep, a directory with several of them or with .bench files, a\n"+
			".bench or result.json file, or the name of a scenario, for its newest run or sweep under runs/.\n"+
			"A regression is a row or metric that is missing in NEW, or by default one of these metrics that became worse:\n"+
			text.Wrap(strings.Join(result.FailureMetrics(), ", "), text.Width, noHang)+"\n"+
			"(if the results have none of them, any metric). With regressions, the exit code is 3, and stderr lists them.",
			example{"sim compare runs/old runs/new", "two runs"},
			example{"sim compare old new --fail-over 0.5% --metric nct", "fail if NCT grew by more than half a percent"},
			example{"sim compare scenarios/baselines new --fail-on-change", "compare with stored baselines, and fail on any change"},
			example{"sim compare old new --pair a=b", "policy a of the old result with policy b of the new one"},
			example{"sim compare old new --format markdown --out diff.md", "Markdown for a code review"}),
		Flags: []cli.Flag{
			defaultedFlag("fail-over", "how much worse a metric may become: `SHARE`, such as 0.5% or 0.005", formatShare(compare.Rounding)),
			repeatableFlag("metric", "only metric `NAME` can fail; all for every metric with a better direction (repeatable)", noDefault),
			boolFlag("fail-on-change", "also fail on improvements of simulated metrics and on changes of metrics without a better direction"),
			boolFlag("wall", "list wall-clock times by row and let them fail; without it they are shown but never fail"),
			defaultedFlag("wall-fail-over", "with --wall: how much longer a row may take: `SHARE`; growth of up to 10 ms never fails", formatShare(compare.WallFailOver)),
			repeatableFlag("ignore", "ignore the part `KEY` of row names, as in --ignore scenario (repeatable)", noDefault),
			repeatableFlag("pair", "compare the rows of policy A in OLD with those of policy B in NEW: `A=B` (repeatable)", "equal names; the best rows, if no name is in both"),
			repeatableFlag("where", "compare only the rows that match `KEY=A,B`, with KEY equal to A or B, as in --where seed=1,2 (repeatable)", "all"),
			boolFlag("all", "also list rows without differences"),
			defaultedFlag("format", "write `FORMAT`: "+strings.Join(compareFormatNames(), ", "), "text"),
			stringFlag("out", "write to `FILE`", "stdout"),
		},
		Action: c.compare,
	}
}

// regressionList is the error of a comparison with regressions.
type regressionList []compare.Regression

// Error implements error. The regressions themselves are printed by reportRegressions.
func (r regressionList) Error() string { return text.Plural(len(r), "regression") }

// maxReportedRegressions limits the regressions that are listed on stderr, so that they fit on a
// screen.
const maxReportedRegressions = 20

// compare runs sim compare. It reads both results, compares them, prints the differences, and
// returns a regressionList if a metric became worse.
func (c *command) compare(cc *cli.Context) error {
	if cc.NArg() != 2 {
		return usagef("sim compare takes two runs, sweeps or baselines: OLD and NEW")
	}
	options, err := compareOptions(cc)
	if err != nil {
		return err
	}
	for i, name := range options.Metrics {
		options.Metrics[i] = c.currentName(name, alias.Metric)
	}
	format := slices.Index(compareFormatNames(), cc.String("format"))
	if format < 0 {
		names := compareFormatNames()
		const otherwise = "" // the message lists all formats in any case
		hint := strings.TrimSuffix(text.DidYouMean(cc.String("format"), names, otherwise), "; ")
		return usagef("flag --format needs %s, not %q%s", strings.Join(names, ", "), cc.String("format"), hint)
	}
	// Read both results. paths are their files, which --out must not replace.
	sides, paths, err := c.readSides(cc)
	if err != nil {
		return err
	}
	if err := c.filterSides(cc, sides); err != nil {
		return err
	}
	// Names of metrics are checked after the selection, because only the remaining rows count.
	for _, name := range options.Metrics {
		known := append(sides[0].Metrics(), sides[1].Metrics()...)
		if name != compare.AllMetrics && !slices.Contains(known, name) {
			return usagef("neither %s nor %s has a metric %q%s", sides[0].Name, sides[1].Name, name,
				text.DidYouMean(name, known, "they have "+strings.Join(sides[0].Metrics(), ", ")))
		}
	}
	// Compare the remaining rows.
	found, err := compare.Compare(sides[0], sides[1], options)
	if err != nil {
		return usageError(err.Error())
	}

	view := compare.View{All: cc.Bool("all")}
	write := func(w io.Writer) error { return compareFormats[format].write(found, w, view) }
	if path := cc.String("out"); path != "" {
		if err := c.writeFile(path, paths, write); err != nil {
			return err
		}
	} else {
		view.Style = c.style()
		if err := write(c.stdout); err != nil {
			return err
		}
	}
	if len(found.Regressions) > 0 {
		return regressionList(found.Regressions)
	}
	return nil
}

// readSides reads the old and the new result without the parts of names in --ignore. It returns
// their paths, too.
func (c *command) readSides(cc *cli.Context) (sides [2]*compare.Set, paths []string, err error) {
	ignored := cc.StringSlice("ignore")
	for i, key := range ignored {
		ignored[i] = c.currentName(key, alias.Key)
	}
	for i := range sides {
		path, err := findResult(cc.Args().Get(i), "run or sweep", result.List(runsRoot))
		if err != nil {
			return sides, nil, err
		}
		paths = append(paths, path)
		if sides[i], err = compare.Read(path, ignored); err != nil {
			return sides, nil, err
		}
	}

	// At least one side must have each ignored key.
	known := sides[0].Keys()
	for _, k := range sides[1].Keys() {
		if !slices.Contains(known, k) {
			known = append(known, k)
		}
	}
	for _, key := range ignored {
		if !slices.Contains(known, key) {
			return sides, nil, usagef("flag --ignore: no row of %s or %s has a part %q%s", sides[0].Name, sides[1].Name, key, text.DidYouMean(key, known, "they have "+strings.Join(known, ", ")))
		}
	}
	return sides, paths, nil
}

// filterSides removes the rows that --where does not select from both results.
func (c *command) filterSides(cc *cli.Context, sides [2]*compare.Set) error {
	where, err := readWhere(cc.StringSlice("where"))
	if err != nil {
		return err
	}
	where, err = c.currentFilter(where).Resolve(slices.Concat(sides[0].Names(), sides[1].Names()))
	if err != nil {
		return usagef("flag --where: %v", err)
	}
	for _, side := range sides {
		side.Filter(where)
	}
	return nil
}

// compareOptions reads the flags that define a regression. The shares are relative changes.
func compareOptions(cc *cli.Context) (o compare.Options, err error) {
	o = compare.Options{
		Metrics:      cc.StringSlice("metric"),
		FailOnChange: cc.Bool("fail-on-change"),
		Wall:         cc.Bool("wall"),
	}
	if cc.IsSet("wall-fail-over") && !o.Wall {
		return o, usagef("flag --wall-fail-over requires --wall")
	}
	if o.FailOver, err = parseShare("fail-over", cc.String("fail-over")); err != nil {
		return o, err
	}
	if o.WallFailOver, err = parseShare("wall-fail-over", cc.String("wall-fail-over")); err != nil {
		return o, err
	}
	for _, value := range cc.StringSlice("pair") {
		for pair := range strings.SplitSeq(value, ",") {
			a, b, ok := strings.Cut(pair, "=")
			a, b = strings.TrimSpace(a), strings.TrimSpace(b)
			if !ok || a == "" || b == "" {
				return o, usagef("flag --pair needs OLD=NEW, the policies to compare, not %q", pair)
			}
			o.Pairs = append(o.Pairs, compare.Pair{Old: a, New: b})
		}
	}
	return o, nil
}

// parseShare parses a share such as "0.5%" or "0.005".
func parseShare(flag, text string) (float64, error) {
	// A percent sign divides by 100. Without it, 1 or more is probably meant as a percentage.
	number, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, usagef("flag --%s needs a share such as 0.5%% or 0.005, not %q", flag, text)
	}
	if isPercent {
		return v / 100, nil
	}
	if v >= 1 {
		return 0, usagef("flag --%s %s is more than the whole; write %s%% if you mean percent", flag, text, text)
	}
	return v, nil
}

// formatShare is the inverse of parseShare; it formats a share in percent.
func formatShare(v float64) string { return strconv.FormatFloat(100*v, 'g', 6, 64) + "%" }

// findResult returns the file or directory with a name: the path itself if it exists, or the
// newest stored result of the scenario with this name. results lists the candidates, and what
// describes them in the error message.
func findResult(name, what string, results []result.StoredResult) (string, error) {
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(name, ".toml") {
		return name, nil
	}
	if dir := result.Latest(results, strings.TrimSuffix(filepath.Base(name), ".toml")); dir != "" {
		return dir, nil
	}
	// Suggest the names of scenarios and of run directories.
	known, otherwise := result.Scenarios(results), "sim run makes one"
	for _, k := range result.Runs(results) {
		known, otherwise = append(known, k.Dir), "sim list runs names those there are"
	}
	return "", usagef("there is no %s, and no %s of a scenario of that name under %s%s", name, what, runsRoot, text.DidYouMean(name, known, otherwise))
}

// reportRegressions prints one line per regression, the worst first, and returns the exit code.
func (c *command) reportRegressions(all regressionList) int {
	worst := compare.Worst(all)
	for i, line := range worst {
		if i == maxReportedRegressions {
			c.logf("and %s", text.Plural(len(worst)-i, "more regression"))
			break
		}
		c.logf("regression: %s", line)
	}
	return exitRegression
}
