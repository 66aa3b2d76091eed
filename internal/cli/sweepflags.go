package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/study"
)

func sweepFlagList() []cli.Flag {
	return append(scenarioFlags(),
		&cli.BoolFlag{Name: "dry-run", DisableDefaultText: true, Usage: "print the cells and how long they might take, and compute nothing but one cell a policy"},
		&cli.BoolFlag{Name: "yes", DisableDefaultText: true, Usage: fmt.Sprintf("go on though there are more than %s cells", text.Count(freeCells))},
		&cli.StringFlag{Name: "shard", Usage: "compute the I-th of N parts of the cells, `I/N`, that are about as large as each other; of /N I is the job array's"},
		&cli.BoolFlag{Name: "merge", DisableDefaultText: true, Usage: "compute nothing but join what shards have computed, in the directory of FILE or in the directories given"},
		&cli.BoolFlag{Name: "join", DisableDefaultText: true, Usage: "share the cells with all who run the same command and see the same directory"},
		&cli.StringFlag{Name: "lease", Value: "1m", Usage: "with --join: others take over the cells of a worker that gave no sign of life for a `TIME`"},
		&cli.StringFlag{Name: "queue", Usage: "have the cells computed by the workers of a queue at `URL`, such as nats://host:4222, or embedded"},
		&cli.StringFlag{Name: "listen", Usage: "with --queue embedded: take workers of other machines at `ADDRESS`, such as :4222"},
		&cli.StringFlag{Name: "creds", Usage: "with --queue: NATS credentials `FILE`"},
		&cli.StringFlag{Name: "token-file", Usage: "with --queue: read the token that is asked for from `FILE`", DefaultText: "$SIM_TOKEN"},
		&cli.BoolFlag{Name: "json", DisableDefaultText: true, Usage: "print the sweep document instead of the table"},
		&cli.StringFlag{Name: "metric", Usage: "print `NAME` in the table", DefaultText: "nct, or else the first of time"},
		&cli.StringFlag{Name: "out", Usage: "keep the sweep in `DIR`", DefaultText: "runs/<name>-<hash>"},
		forceFlag(),
		routeCacheFlag(),
		&cli.IntFlag{Name: "j", Usage: "compute `N` cells at a time; changes no result", DefaultText: "as many as there are processors"},
		&cli.BoolFlag{Name: "no-plots", DisableDefaultText: true, Usage: "draw no figures"},
		&cli.StringFlag{Name: "format", Usage: "draw figures as `FORMATS`: png, svg or png,svg", Value: "png"},
	)
}

// sweepFlags are the flags of `sim sweep` that are not the scenario's.
type sweepFlags struct {
	runFlags
	dryRun, yes, merge   bool
	join                 bool
	lease                time.Duration
	shard                study.Shard
	queue, listen, creds string
	tokenFile            string
	metric               string
}

func (c *command) readSweepFlags(cc *cli.Context) (f sweepFlags, err error) {
	f = sweepFlags{
		runFlags: runFlags{json: cc.Bool("json"), out: cc.String("out"), workers: workers(cc), force: cc.Bool("force"), dirs: scenarios.OutputDirs{Routes: cc.String("route-cache")}},
		join:     cc.Bool("join"),
		dryRun:   cc.Bool("dry-run"), yes: cc.Bool("yes"), merge: cc.Bool("merge"),
		queue: cc.String("queue"), listen: cc.String("listen"), creds: cc.String("creds"), tokenFile: cc.String("token-file"), metric: cc.String("metric"),
	}
	if f.formats, err = readFormats(cc); err != nil {
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
	case f.join && (cc.IsSet("shard") || f.queue != "" || f.dryRun || f.merge || f.force):
		why = "--join shares the cells of one directory among its workers, so it does not go with --shard, --queue, --merge, --dry-run or --force"
	case cc.IsSet("lease") && !f.join:
		why = "flag --lease goes with --join"
	case f.dirs.Routes != "" && (f.queue != "" || f.merge):
		why = "flag --route-cache is for cells that this process computes; leave it out"
	case f.json && f.metric != "":
		why = "--metric is of the table, which --json leaves out; use one of the two"
	case f.json && f.dryRun:
		why = "--json prints results, of which --dry-run has none; use one of the two"
	case f.merge && (cc.IsSet("shard") || f.queue != "" || f.dryRun || f.force):
		why = "--merge computes nothing, so it does not go with --shard, --queue, --dry-run or --force"
	}
	if why != "" {
		return f, usageError(why)
	}
	if f.lease, err = time.ParseDuration(cc.String("lease")); err != nil || f.lease < time.Second || f.lease > 24*time.Hour {
		return f, usagef("flag --lease wants a time from 1s to 24h, such as 90s, not %q", cc.String("lease"))
	}
	if f.merge || f.join {
		return f, nil
	}
	var from string
	if f.shard, from, err = study.ParseShard(cc.String("shard"), c.getenv); err != nil {
		return f, usageError(err.Error())
	}
	if from != "" {
		c.say("part %s of the sweep, by %s", f.shard, from)
	}
	if f.json && f.shard.Count > 1 {
		return f, usagef("--json prints all cells, of which %s is a part; print them with sim sweep --merge --json", f.shard)
	}
	if f.queue != "" && f.shard.Count > 1 {
		return f, usagef("--queue shares the cells among its workers itself, so it does not go with --shard (of an array of jobs run sim worker)")
	}
	return f, nil
}

// secret is what stands before the host of a queue's address.
var secret = regexp.MustCompile(`[^/=,\s]+@`)

// withoutSecrets returns arguments fit to be kept: the addresses of queues hold passwords and tokens.
func withoutSecrets(args []string) []string {
	kept := slices.Clone(args)
	for i, a := range kept {
		if strings.Contains(a, "://") || i > 0 && strings.Contains(args[i-1], "listen") || strings.Contains(a, "listen=") {
			kept[i] = secret.ReplaceAllString(a, "***@")
		}
	}
	return kept
}
