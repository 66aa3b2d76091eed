package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"sim/scenarios/result"
)

// printJobs explains each of several jobs by its own critical path, and what ports each has. false where the play is of one job.
func printJobs(b *strings.Builder, run *result.Run, p *result.Play, paint paints) bool {
	if len(p.Jobs) == 0 {
		return false
	}
	if row := run.Document.Row(p.Policy); row != nil {
		line := fmt.Sprintf("%s: objective %.4f (%s)", paint.bold(p.Policy), row.Metrics[objective], row.Labels[objective])
		if bound, ok := row.Metrics["bound_objective"]; ok {
			line += fmt.Sprintf(", %s above a lower bound of %.4f", gapWords(row.Metrics["gap"]), bound)
		}
		b.WriteString(wrap(line+". A circuit serves one job, so the jobs meet in the ports of their pods alone, and each has a critical path of its own.", tableWidth) + "\n")
		if row.Labels["pooled"] != "" {
			paragraph(b, "What follows is each job on its own circuits; the pooled figures are of another simulation, many iterations on the circuits of all.")
		}
	}
	printJobPorts(b, p, paint)
	for i := range p.Jobs {
		job := &p.Jobs[i]
		title := "Job " + job.Policy
		if row := run.Document.Row(p.Policy); row != nil {
			if nct, ok := row.Metrics["job."+job.Policy+".nct"]; ok {
				title += fmt.Sprintf(", NCT %.4f", nct)
			}
		}
		fmt.Fprintf(b, "\n%s\n\n", paint.bold(title))
		printSplit(b, job, paint)
		printChain(b, job)
		printLinks(b, job)
		ideal := jobOf(&run.Detail.Reference, job.Policy)
		if ideal != nil {
			printIdeal(b, job, ideal)
		}
		printHelp(b, job)
		plays, below := served(run, ideal, func(q *result.Play) *result.Play { return jobOf(q, job.Policy) })
		under := *job
		under.Policy = p.Policy
		printCompared(b, &under, plays, paint)
		if i+1 == len(p.Jobs) {
			b.WriteString(below)
		}
	}
	return true
}

func gapWords(v float64) string {
	if v <= provedGap {
		return "0 %"
	}
	return percent(v)
}

// jobOf returns the part of a job in a play, nil where there is none.
func jobOf(p *result.Play, name string) *result.Play {
	k := slices.IndexFunc(p.Jobs, func(q result.Play) bool { return q.Policy == name })
	if k < 0 {
		return nil
	}
	return &p.Jobs[k]
}

// podLines is how many pods are printed.
const podLines = 24

// printJobPorts prints the ports that each job has in each pod, and by how many that is off its even share.
func printJobPorts(b *strings.Builder, p *result.Play, paint paints) {
	head := table.Row{"pod"}
	var pods []string
	for i := range p.Jobs {
		t := p.Jobs[i].Topology
		if t == nil {
			return
		}
		head = append(head, p.Jobs[i].Policy, "off its\neven share")
		for _, pod := range t.Pods {
			if !slices.Contains(pods, pod.Name) {
				pods = append(pods, pod.Name)
			}
		}
	}
	tw := newTable(append(head, "free"))
	sums, even, free := make([]int, len(p.Jobs)), make([]int, len(p.Jobs)), 0
	for k, name := range pods {
		row, left := table.Row{name}, 0
		for i := range p.Jobs {
			at := slices.IndexFunc(p.Jobs[i].Topology.Pods, func(q result.PodPorts) bool { return q.Name == name })
			if at < 0 {
				row = append(row, "-", "-")
				continue
			}
			q := p.Jobs[i].Topology.Pods[at]
			row = append(row, count(float64(q.Used)), fmt.Sprintf("%+d", q.Used-q.Even))
			sums[i] += q.Used
			even[i] += q.Even
			left = q.Total - q.Used
		}
		free += left
		if k < podLines {
			tw.AppendRow(append(row, count(float64(left))))
		}
	}
	fmt.Fprintf(b, "\n%s\n\n%s\n", paint.bold("Ports of a pod, by job"), tw.Render())
	if more := len(pods) - podLines; more > 0 {
		fmt.Fprintf(b, "and %s\n", plural(more, "pod more", "pods more"))
	}
	for i := range p.Jobs {
		line := fmt.Sprintf("%s has %s, ", p.Jobs[i].Policy, plural(sums[i], "port", "ports"))
		switch by := sums[i] - even[i]; {
		case by > 0:
			line += fmt.Sprintf("%d more than its even share: it borrows them", by)
		case by < 0:
			line += fmt.Sprintf("%d fewer than its even share, which it lends or leaves free", -by)
		default:
			line += "as many as its even share"
		}
		paragraph(b, line)
	}
	paragraph(b, fmt.Sprintf("%s free; the even share is in proportion to the jobs' GPUs in a pod", plural(free, "port is", "ports are")))
}
