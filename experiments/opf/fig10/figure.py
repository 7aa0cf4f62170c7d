"""FCT of short flows: Homa with and without OPF."""

from trimline import plot

WORKLOADS = {
    "web-25": "Web, 25 %",
    "web-35": "Web, 35 %",
    "hadoop-25": "Hadoop, 25 %",
    "hadoop-35": "Hadoop, 35 %",
}


def figure(experiment):
    like = plot.load(__file__, "opf/fig06")
    title = "Incasts of 64 into a rack over random traffic, 144 hosts"
    return like.by_workload(experiment, WORKLOADS, "Homa", title)
