//! The keys of clients that send requests to servers, and the resulting workloads.

use std::sync::Arc;

use trimline_packet::TimeDelta;

use crate::keys::error::ScenarioError;
use crate::keys::form::{
    BYTES, DURATION, Form, Grammar, HOST, MAX_HOSTS, computed, fixed, optional,
};
use crate::keys::quantity::{self, Quantity};
use crate::keys::read::{duration_of, excluded, host, number, positive, read};
use crate::keys::tree::Node;
use crate::plan::{Gap, Groups, Matrix, NoGroups, Queries, Servers, Size};

pub(super) static PARTITION_AGGREGATE: Grammar = Grammar {
    about: "Each query goes to several servers, drawn from all other hosts; `size` is the size of an answer.",
    alternatives: &["servers", "total"],
    keys: &[
        optional("servers", Form::Integer(1, MAX_HOSTS), "Servers of each query, all distinct."),
        optional(
            "total",
            Form::Either(&[BYTES, Form::List(&BYTES)]),
            "Payload of all answers to a query together: one size, or several: one is drawn for each query. Then `size` is drawn once for each query too, all its answers are alike, and there are as many as the total takes (FastLane 5). Servers are distinct where there are enough, and else asked in turn.",
        ),
        computed(
            "client",
            Form::Either(&[HOST, Form::List(&HOST)]),
            "every host is one",
            "The one client, or several.",
        ),
        fixed("request", BYTES, "100B", "Payload of a request."),
        fixed(
            "service_time",
            DURATION,
            "0s",
            "From the last byte of a request to the beginning of its answer.",
        ),
        computed(
            "mean_service_time",
            DURATION,
            "`service_time`",
            "The same, drawn for each request: exponential, by its mean.",
        ),
        computed("excluding", Form::List(&HOST), "none", "Hosts that are never asked."),
        fixed(
            "fct_from",
            Form::Word(&["answer", "request"]),
            "answer",
            "When the record of an answer starts: as its server begins it, or as its client asked. The latter makes completion times those that a client sees (HULL 6.2); ideal times are still the times of the answer alone.",
        ),
    ],
};

fn clients(node: &Node, hosts: u32) -> Result<Option<Vec<u32>>, ScenarioError> {
    let Some(client) = node.child("client") else { return Ok(None) };
    let Some(list) = client.list() else { return Ok(Some(vec![host(client, hosts)?])) };
    let mut clients = list.iter().map(|node| host(node, hosts)).collect::<Result<Vec<_>, _>>()?;
    clients.sort_unstable();
    clients.dedup();
    if clients.is_empty() {
        return Err(ScenarioError::new(&client.place, "no client", "at least one host"));
    }
    Ok(Some(clients))
}

/// Reads the requests. With a `total`, the number of servers follows from the sizes.
pub(super) fn queries(node: &Node, hosts: u32) -> Result<Matrix, ScenarioError> {
    let clients = clients(node, hosts)?;
    let excluding = excluded(node, hosts)?;
    let servers = number(node, "servers").unwrap_or(1);
    // A client that is itself excluded has one server more than the others.
    let is_out = |client: &u32| excluding.binary_search(client).is_ok();
    let all_are_out = clients.as_ref().is_some_and(|clients| clients.iter().all(is_out));
    let left_out = excluding.len() as u32 - u32::from(all_are_out);
    let others = (hosts - 1).saturating_sub(left_out);
    if servers > others {
        let place = node.child("servers").unwrap_or(node);
        return Err(ScenarioError::new(
            &place.place,
            format!("{servers} servers among {others} other hosts"),
            format!("at most {others} servers"),
        )
        .nearest(Some(others.to_string())));
    }
    let service_time = match (node.child("service_time"), node.child("mean_service_time")) {
        (Some(_), Some(mean)) => {
            return Err(ScenarioError::new(
                &mean.place,
                "`mean_service_time` beside `service_time`",
                "one of them",
            ));
        }
        (Some(fixed), None) => Gap::Fixed(duration_of(fixed)?),
        (None, Some(mean)) => Gap::Exponential(positive(mean)?),
        (None, None) => Gap::Fixed(TimeDelta::ZERO),
    };
    Ok(Matrix::Requests(Queries {
        clients,
        servers: Servers::Fixed(servers),
        excluding,
        service_time,
        from_request: node.child("fct_from").and_then(Node::text) == Some("request"),
    }))
}

/// Makes queries with a `total` into groups, with the resulting flow sizes.
pub(super) fn grouped(
    ask: &Node,
    workload: &Node,
    matrix: Matrix,
    size: Size,
) -> Result<(Matrix, Size), ScenarioError> {
    let (Some(total), Matrix::Requests(queries)) = (ask.child("total"), &matrix) else {
        return Ok((matrix, size));
    };
    if let Some(kept) = workload.child("connection").filter(|node| node.text() != Some("new")) {
        return Err(ScenarioError::new(
            &kept.place,
            "persistent connections for groups of answers, whose servers repeat",
            "\"new\": each answer has one of its own",
        ));
    }
    let place = workload.child("size").unwrap_or(workload);
    let is_mixture = place.child("mixture").is_some();
    let sizes: Vec<(u64, u64)> = match &size {
        Size::Fixed(size) => vec![(size.get(), 1)],
        Size::Drawn(sizes) if is_mixture => {
            let before = [0].into_iter().chain(sizes.points().iter().map(|point| point.1));
            sizes.points().iter().zip(before).map(|(&(size, to), from)| (size, to - from)).collect()
        }
        Size::LongLived | Size::Drawn(_) | Size::Pareto(_) => {
            return Err(ScenarioError::new(
                &place.place,
                "a distribution whose sizes need not divide a `total`",
                "one size, or a `mixture` of some",
            ));
        }
    };
    let nodes = total.list().unwrap_or(std::slice::from_ref(total));
    let totals = nodes
        .iter()
        .map(|node| Ok(read(node, quantity::bytes, Quantity::Bytes)?.get()))
        .collect::<Result<Vec<u64>, ScenarioError>>()?;
    let groups = Groups::new(&sizes, &totals).map_err(|mistake| match mistake {
        NoGroups::Sizes(problem) => {
            ScenarioError::new(&total.place, problem, "at least one size and one total")
        }
        NoGroups::Total { place, size } => {
            let nearest = totals[place].div_ceil(size).max(1).saturating_mul(size);
            ScenarioError::new(
                &nodes[place].place,
                format!(
                    "a total of {} B, which is no whole number of answers of {size} B",
                    totals[place]
                ),
                "a multiple of every size",
            )
            .nearest(Some(format!("{nearest}B")))
        }
    })?;
    if groups.max() > MAX_HOSTS as u64 {
        return Err(ScenarioError::new(
            &total.place,
            format!("a query of {} requests", groups.max()),
            format!("at most {MAX_HOSTS}"),
        ));
    }
    let size = Size::Drawn(Arc::new(groups.of_answers()));
    let queries = Queries { servers: Servers::Groups(groups), ..queries.clone() };
    Ok((Matrix::Requests(queries), size))
}
