package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
	"sim/scenarios/result"
)

func sweepFlagList() []cli.Flag {
	return append(scenarioFlags(),
		boolFlag("dry-run", "print the cells and how long they might take, and compute nothing but one cell a policy"),
		boolFlag("yes", fmt.Sprintf("go on though there are more than %s cells", text.Count(maxCellsWithoutYes))),
		boolFlag("join", "share the cells with all who run the same command and see the same directory"),
		defaultedFlag("lease", "with --join: others take over the cells of a worker that gave no sign of life for a `TIME`", "1m"),
		stringFlag("queue", "have the cells computed by the workers of a queue at `URL`, such as nats://host:4222, or embedded in a build with the tag nats", ""),
		stringFlag("listen", "with --queue embedded: take workers of other machines at `ADDRESS`, such as :4222", ""),
		stringFlag("creds", "with --queue: NATS credentials `FILE`", ""),
		stringFlag("token-file", "with --queue: read the token that is asked for from `FILE`", "$SIM_TOKEN"),
		boolFlag("json", "print the sweep document instead of the table"),
		stringFlag("metric", "print `NAME` in the table", "nct, or else the first of time"),
		repeatableFlag("where", "print cells where `KEY=A,B` in the table (repeatable)", "all"),
		stringFlag("out", "keep the sweep in `DIR`", "runs/<name>-<hash>"),
		forceFlag(),
		routeCacheFlag(),
		&cli.IntFlag{Name: "j", Usage: "compute `N` cells at a time; changes no result", DefaultText: "as many as there are processors"},
		boolFlag("no-plots", "draw no figures"),
		formatFlag(),
		&cli.StringFlag{Name: "shard", Hidden: true}, // refused, with what serves instead
		&cli.BoolFlag{Name: "merge", Hidden: true},   // refused likewise
	)
}

// sweepFlags are the flags of `sim sweep` that are not the scenario's.
type sweepFlags struct {
	runFlags
	dryRun, yes          bool
	join                 bool
	lease                time.Duration
	queue, listen, creds string
	tokenFile            string
	metric               string
	where                result.Where
}

func (c *command) readSweepFlags(cc *cli.Context) (f sweepFlags, err error) {
	f = sweepFlags{
		join: cc.Bool("join"), dryRun: cc.Bool("dry-run"), yes: cc.Bool("yes"),
		queue: cc.String("queue"), listen: cc.String("listen"), creds: cc.String("creds"), tokenFile: cc.String("token-file"), metric: cc.String("metric"),
	}
	if f.runFlags, err = readStorageFlags(cc); err != nil {
		return f, err
	}
	if f.where, err = readWhere(cc.StringSlice("where")); err != nil {
		return f, err
	}
	if err := checkMetric(f.metric); err != nil {
		return f, err
	}
	why := ""
	switch {
	case f.listen != "" && f.queue != "embedded":
		why = "flag --listen goes with --queue embedded"
	case f.creds != "" && f.queue == "":
		why = "flag --creds goes with --queue"
	case f.tokenFile != "" && f.queue == "":
		why = "flag --token-file goes with --queue"
	case cc.IsSet("shard") || cc.IsSet("merge"):
		why = "a sweep has no --shard and --merge: run the same command with --join --out DIR on every machine that sees DIR, or share the cells with --queue"
	case f.join && (f.queue != "" || f.dryRun || f.force):
		why = "--join shares the cells of one directory among its workers, so it does not go with --queue, --dry-run or --force"
	case cc.IsSet("lease") && !f.join:
		why = "flag --lease goes with --join"
	case f.dirs.Routes != "" && f.queue != "":
		why = "flag --route-cache is for cells that this process computes; leave it out"
	case f.json && f.metric != "":
		why = "--metric is of the table, which --json leaves out; use one of the two"
	case f.json && f.where != nil:
		why = "--where is of the table, which --json leaves out; use one of the two"
	case f.json && f.dryRun:
		why = "--json prints results, of which --dry-run has none; use one of the two"
	}
	if why != "" {
		return f, usageError(why)
	}
	if f.lease, err = time.ParseDuration(cc.String("lease")); err != nil || f.lease < time.Second || f.lease > 24*time.Hour {
		return f, usagef("flag --lease wants a time from 1s to 24h, such as 90s, not %q", cc.String("lease"))
	}
	return f, nil
}

// secretPattern is what stands before the host of a queue's address.
var secretPattern = regexp.MustCompile(`[^/=,\s]+@`)

// withoutSecrets returns arguments fit to be kept: the addresses of queues hold passwords and tokens.
func withoutSecrets(args []string) []string {
	kept := slices.Clone(args)
	for i, a := range kept {
		if strings.Contains(a, "://") || i > 0 && strings.Contains(args[i-1], "listen") || strings.Contains(a, "listen=") {
			kept[i] = secretPattern.ReplaceAllString(a, "***@")
		}
	}
	return kept
}
