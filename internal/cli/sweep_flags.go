package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sim/internal/alias"
	"sim/internal/text"
	"sim/scenarios/result"
)

// sweepFlagList returns the definitions of the flags of sim sweep.
func sweepFlagList() []cli.Flag {
	return append(append(scenarioFlags(), budgetFlags()...),
		boolFlag("dry-run", "print the cells and their predicted time; compute at most one cell per policy for it"),
		boolFlag("yes", fmt.Sprintf("allow more than %s cells", text.Count(maxCellsWithoutYes))),
		boolFlag("join", "share the cells with all processes that run the same command with the same directory"),
		defaultedFlag("lease", "with --join: other workers take over the cells of a worker that has not renewed its leases for a `TIME`", "1m"),
		stringFlag("queue", "let the workers of the queue at `URL` compute the cells, such as nats://host:4222, or embedded in a build with the tag nats", noDefault),
		stringFlag("listen", "with --queue embedded: accept workers of other machines at `ADDRESS`, such as :4222", noDefault),
		stringFlag("creds", "with --queue: read NATS credentials from `FILE`", noDefault),
		stringFlag("token-file", "with --queue: read the token of the server from `FILE`", "$SIM_TOKEN"),
		boolFlag("json", "print the sweep document instead of the table"),
		stringFlag("metric", "print the metric `NAME` in the table", "nct, or else the first metric that is a time"),
		repeatableFlag("where", "print only the cells that match `KEY=A,B` in the table, with KEY equal to A or B (repeatable)", "all"),
		stringFlag("out", "store the sweep in `DIR`", "runs/<name>-<hash>"),
		forceFlag(),
		routeCacheFlag(),
		&cli.IntFlag{Name: "j", Usage: "compute `N` cells at the same time; the results do not depend on N", DefaultText: "the number of processors"},
		boolFlag("no-plots", "draw no figures"),
		formatFlag(),
		&cli.StringFlag{Name: "shard", Hidden: true}, // rejected with a message that names the alternative
		&cli.BoolFlag{Name: "merge", Hidden: true},   // rejected likewise
	)
}

// sweepFlags holds the flags of sim sweep other than the scenario flags.
type sweepFlags struct {
	runFlags
	dryRun bool // print the cells only
	yes    bool // allow many cells
	// join shares the cells of a directory with other workers.
	join bool
	// lease is the time after which other workers take over unrenewed cells.
	lease time.Duration
	// URL of the queue, or queue.EmbeddedURL.
	queue string
	// Address of the embedded server.
	listen string
	// Credentials file for the queue.
	creds string
	// File with the token of the queue.
	tokenFile string
	// metric is the metric in the table; "" for the default.
	metric string
	// where has the cells in the table; nil for all.
	where result.NameFilter
}

// readSweepFlags reads and checks the flags of sim sweep.
func (c *command) readSweepFlags(cc *cli.Context) (f sweepFlags, err error) {
	f = sweepFlags{
		join: cc.Bool("join"), dryRun: cc.Bool("dry-run"), yes: cc.Bool("yes"),
		queue: cc.String("queue"), listen: cc.String("listen"), creds: cc.String("creds"), tokenFile: cc.String("token-file"), metric: cc.String("metric"),
	}
	if f.runFlags, err = readStorageFlags(cc); err != nil {
		return f, err
	}
	f.metric = c.currentName(f.metric, alias.Metric)
	if f.where, err = readWhere(cc.StringSlice("where")); err != nil {
		return f, err
	}
	f.where = c.currentFilter(f.where)
	if err := checkMetric(f.metric); err != nil {
		return f, err
	}
	// Reject combinations of flags that exclude each other.
	why := ""
	switch {
	case f.listen != "" && f.queue != "embedded":
		why = "flag --listen requires --queue embedded"
	case f.creds != "" && f.queue == "":
		why = "flag --creds requires --queue"
	case f.tokenFile != "" && f.queue == "":
		why = "flag --token-file requires --queue"
	case cc.IsSet("shard") || cc.IsSet("merge"):
		why = "a sweep has no --shard and --merge: run the same command with --join --out DIR on every machine that sees DIR, or share the cells with --queue"
	case f.join && (f.queue != "" || f.dryRun || f.force):
		why = "--join shares the cells of one directory among its workers, so it does not go with --queue, --dry-run or --force"
	case cc.IsSet("lease") && !f.join:
		why = "flag --lease requires --join"
	case f.dirs.Routes != "" && f.queue != "":
		why = "flag --route-cache is for cells that this process computes, so it does not go with --queue"
	case f.json && f.metric != "":
		why = "--metric selects a column of the table, which --json does not print; use one of the two"
	case f.json && f.where != nil:
		why = "--where selects rows of the table, which --json does not print; use one of the two"
	case f.json && f.dryRun:
		why = "--json prints results, and --dry-run has none; use one of the two"
	}
	if why != "" {
		return f, usageError(why)
	}
	if f.lease, err = time.ParseDuration(cc.String("lease")); err != nil || f.lease < time.Second || f.lease > 24*time.Hour {
		return f, usagef("flag --lease needs a time from 1s to 24h, such as 90s, not %q", cc.String("lease"))
	}
	return f, nil
}

// secretPattern matches the user, password or token before the host in the address of a queue.
var secretPattern = regexp.MustCompile(`[^/=,\s]+@`)

// withoutSecrets returns a copy of the arguments for the manifest, in which passwords and
// tokens in addresses of queues are replaced by ***.
func withoutSecrets(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if strings.Contains(a, "://") || i > 0 && strings.Contains(args[i-1], "listen") || strings.Contains(a, "listen=") {
			out[i] = secretPattern.ReplaceAllString(a, "***@")
		}
	}
	return out
}
