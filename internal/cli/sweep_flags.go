// This file defines the flags of sim sweep, and checks which of them exclude each
// other.

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
	"sim/scenarios/queue"
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
		stringFlag("token-file", "with --queue: read the token of the server from `FILE`", "$"+tokenVariable),
		boolFlag("json", "print the sweep document instead of the table"),
		stringFlag("metric", "print the metric `NAME` in the table", "nct, or the iteration time if ideal fabrics differ, or else the first metric that is a time"),
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

// sweepFlags holds the flags of sim sweep other than the scenario flags. queue.go reads the
// flags of the queue.
type sweepFlags struct {
	// runFlags are the flags that sim run has, too. readStorageFlags sets the shared ones: json,
	// out, workers, force, dirs and formats.
	runFlags
	dryRun bool // print the cells only
	yes    bool // allow many cells
	// join shares the cells of a directory with other workers.
	join bool
	// lease is the time after which other workers take over the cells of a worker that has not
	// renewed its leases. It is for join only.
	lease time.Duration
	// queue is the URL of the queue, or queue.EmbeddedURL; "" without a queue.
	queue     string
	listen    string // address of the embedded server, which may have a token; or ""
	creds     string // credentials file for the queue, or ""
	tokenFile string // file with the token of the queue, or ""
	// metric is the metric in the table; "" for the default.
	metric string
	// where selects the cells in the table; nil for all.
	where result.NameFilter
}

// minLease and maxLease are the range of --lease. A shorter lease would be lost by a short pause
// of a machine; a longer one would block the cells of a killed worker for days.
const (
	minLease = time.Second
	maxLease = 24 * time.Hour
)

// readSweepFlags reads and checks the flags of sim sweep.
func (c *command) readSweepFlags(cc *cli.Context) (f sweepFlags, err error) {
	f = sweepFlags{
		join: cc.Bool("join"), dryRun: cc.Bool("dry-run"), yes: cc.Bool("yes"),
		queue: cc.String("queue"), listen: cc.String("listen"), creds: cc.String("creds"), tokenFile: cc.String("token-file"), metric: cc.String("metric"),
	}
	if f.runFlags, err = readStorageFlags(cc); err != nil {
		return f, err
	}

	// Replace deprecated names of metrics and keys.
	f.metric = c.currentName(f.metric, alias.Metric)
	if f.where, err = readWhere(cc.StringSlice("where")); err != nil {
		return f, err
	}
	f.where = c.currentFilter(f.where)
	if err := checkMetric(f.metric); err != nil {
		return f, err
	}
	if why := f.conflict(cc); why != "" {
		return f, usageError(why)
	}
	if f.lease, err = time.ParseDuration(cc.String("lease")); err != nil || f.lease < minLease || f.lease > maxLease {
		return f, usagef("flag --lease needs a time from 1s to 24h, such as 90s, not %q", cc.String("lease"))
	}
	return f, nil
}

// conflict returns the reason why flags of f cannot be used together, or "".
func (f *sweepFlags) conflict(cc *cli.Context) string {
	switch {
	case f.listen != "" && f.queue != queue.EmbeddedURL:
		return "flag --listen requires --queue embedded"
	case f.creds != "" && f.queue == "":
		return "flag --creds requires --queue"
	case f.tokenFile != "" && f.queue == "":
		return "flag --token-file requires --queue"
	case cc.IsSet("shard") || cc.IsSet("merge"):
		return "a sweep has no --shard and --merge: run the same command with --join --out DIR on every machine that sees DIR, or share the cells with --queue"
	case f.join && (f.queue != "" || f.dryRun || f.force):
		return "--join shares the cells of one directory among its workers, so it does not go with --queue, --dry-run or --force"
	case cc.IsSet("lease") && !f.join:
		return "flag --lease requires --join"
	case f.dirs.Routes != "" && f.queue != "":
		return "flag --route-cache is for cells that this process computes, so it does not go with --queue"
	case f.json && f.metric != "":
		return "--metric selects a column of the table, which --json does not print; use one of the two"
	case f.json && f.where != nil:
		return "--where selects rows of the table, which --json does not print; use one of the two"
	case f.json && f.dryRun:
		return "--json prints results, and --dry-run has none; use one of the two"
	}
	return ""
}

// secretPattern matches the user, password or token before the host in the address of a queue,
// such as "TOKEN@" in nats://TOKEN@host:4222.
var secretPattern = regexp.MustCompile(`[^/=,\s]+@`)

// withoutSecrets returns a copy of the arguments for the manifest, in which passwords and
// tokens in addresses of queues are replaced by ***. An argument may contain an address if it
// has "://", or if it belongs to the flag --listen: --listen ADDRESS or --listen=ADDRESS.
func withoutSecrets(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		followsListen := i > 0 && strings.Contains(args[i-1], "listen")
		if strings.Contains(a, "://") || followsListen || strings.Contains(a, "listen=") {
			out[i] = secretPattern.ReplaceAllString(a, "***@")
		}
	}
	return out
}
